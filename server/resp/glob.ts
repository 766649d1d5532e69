import type { ByteText } from '#core/text/byte-text.ts';
import { Told } from './told.ts';

const patternMax = 1024;

/** One place of a pattern: any run, or a byte that a test takes. */
type Part = 'run' | ((byte: number) => boolean);

/** Patterns of KEYS and SCAN: `*`, `?`, `[a-z]`, `[^a]` and `\`. Two pointers, going back to the last `*` only. */
export class Glob {
  readonly #parts: readonly Part[];

  constructor(pattern: ByteText) {
    if (pattern.length > patternMax)
      throw new Told(`ERR a pattern may have ${patternMax} bytes, this one has ${pattern.length}`);
    this.#parts = partsOf(pattern);
  }

  matches(text: ByteText): boolean {
    const parts = this.#parts;
    let part = 0;
    let at = 0;
    let run = -1;
    let from = 0;
    while (at < text.length) {
      const wanted = parts[part];
      if (wanted === 'run') {
        run = part;
        from = at;
        part += 1;
      } else if (wanted?.(text.charCodeAt(at))) {
        part += 1;
        at += 1;
      } else if (run >= 0) {
        part = run + 1;
        from += 1;
        at = from;
      } else return false;
    }
    while (parts[part] === 'run') part += 1;
    return part === parts.length;
  }
}

function partsOf(pattern: ByteText): readonly Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === '*') {
      if (parts.at(-1) !== 'run') parts.push('run');
    } else if (character === '?') parts.push(() => true);
    else if (character === '[' && pattern.indexOf(']', at + 1) > 0) {
      const end = pattern.indexOf(']', at + 1);
      parts.push(classOf(pattern.slice(at + 1, end)));
      at = end;
    } else {
      if (character === '\\' && at + 1 < pattern.length) at += 1;
      const code = pattern.charCodeAt(at);
      parts.push((byte) => byte === code);
    }
  }
  return parts;
}

function classOf(inside: string): (byte: number) => boolean {
  const isNot = inside.startsWith('^');
  const wanted = new Set<number>();
  for (let at = isNot ? 1 : 0; at < inside.length; at += 1) {
    const low = inside.charCodeAt(at);
    const isRange = inside[at + 1] === '-' && at + 2 < inside.length;
    const high = isRange ? inside.charCodeAt(at + 2) : low;
    for (let code = Math.min(low, high); code <= Math.max(low, high); code += 1) wanted.add(code);
    if (isRange) at += 2;
  }
  return (byte) => wanted.has(byte) !== isNot;
}
