/** The inside of strings of JSON. */

const quote = 34;
const backslash = 92;

export const controlCharacter = 'control character in a string';
export const notClosed = 'the string is not closed';
export const loneSurrogate = 'the string holds a lone surrogate';
export const unknownEscape = 'unknown escape in a string';

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** What the escape at the position stands for: six characters for `\\u`, else two; undefined for one that there is not. */
export function escapeAt(text: string, position: number): string | undefined {
  const char = text.charAt(position + 1);
  const plain = escapes[char];
  if (plain !== undefined) return plain;
  const digits = text.slice(position + 2, position + 6);
  if (char !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) return undefined;
  return String.fromCharCode(Number.parseInt(digits, 16));
}

/** Where characters end that stand for themselves. */
export function plainRunEnd(text: string, start: number, end: number): number {
  let position = start;
  for (;;) {
    if (position >= end) return position;
    const unit = text.charCodeAt(position);
    if (unit === quote || unit === backslash || unit < 32 || Number.isNaN(unit)) return position;
    position++;
  }
}
