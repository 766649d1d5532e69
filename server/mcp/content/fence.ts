import type { Random } from '#core/runtime.ts';

const suffixBytes = 8;

/**
 * A text between delimiters that it cannot close: when it holds the closing one in any case, both get a suffix of 16
 * unpredictable digits that the text does not hold (contract 2, Prompts 3).
 */
export function fenced(tag: string, text: string, random: Random): string {
  const isForged = text.toLowerCase().includes(`</${tag}`);
  let name = tag;
  while (isForged && (name === tag || text.includes(name))) {
    name = `${tag}_${Buffer.from(random.bytes(suffixBytes)).toString('hex')}`;
  }
  return `<${name}>\n${text}\n</${name}>`;
}
