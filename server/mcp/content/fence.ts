import type { Random } from '#core/runtime.ts';
import type { Slices } from '#core/value/json-slices.ts';
import { holdsWord, type Pieces } from '../protocol/long-json.ts';

const suffixBytes = 8;

/**
 * A text between delimiters that it cannot close: when it holds the closing one in any case, both get a suffix of 16
 * unpredictable digits that the text does not hold (contract 2, Prompts 3).
 */
export async function fenced(
  tag: string,
  text: string,
  { random, slices }: { readonly random: Random; readonly slices: Slices },
): Promise<Pieces> {
  const isForged = await holdsWord(text, `</${tag}`, slices);
  let name = tag;
  while (isForged && (name === tag || (await holdsWord(text, name, slices)))) {
    name = `${tag}_${Buffer.from(random.bytes(suffixBytes)).toString('hex')}`;
  }
  // Joined, a text of megabytes would be copied in one turn.
  return [`<${name}>\n`, text, `\n</${name}>`];
}
