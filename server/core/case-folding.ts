/**
 * Letter case independent of the host's locale: the Unicode default mappings, which `String.prototype.toLowerCase` uses
 * (the locale-sensitive ones are `toLocaleLowerCase`; they are never called).
 */

/** Lower case for ILIKE, COLLATE CI and `strcmpci`; the length may change. */
export function foldCase(text: string): string {
  return text.toLowerCase();
}

/** Equal up to letter case. */
export function equalIgnoringCase(a: string, b: string): boolean {
  return a === b || foldCase(a) === foldCase(b);
}

/** `text` with ASCII letters in lower case, others untouched: names of functions, keywords and settings. */
export function foldAscii(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 65 && code <= 90) return text.replace(/[A-Z]+/g, (run) => run.toLowerCase());
  }
  return text;
}
