/*
 * Letter case and order of text, the same on every machine: the Unicode default mappings, which `String.prototype.toLowerCase`
 * uses whatever LANG, LC_ALL or `--icu-data-dir` say (the tables are compiled into the `node` of the npm package, which is built
 * with full ICU; `toLocaleLowerCase`, `localeCompare` and `Intl.Collator` ask the host and are never called). Order is that of
 * code points (`compareText`).
 */

/**
 * Case folding for ILIKE, COLLATE CI and `strcmpci`; the length may change. Folding parts gives the parts of the folded whole,
 * which prefixes need: the two forms of the small sigma, between which lower case chooses by its neighbours, are one.
 */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.includes('\u03c2') ? lower.replaceAll('\u03c2', '\u03c3') : lower;
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
