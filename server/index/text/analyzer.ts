import { type AnalyzerName, analyzerNamed } from '#catalog/search-index.ts';
import { stemmerOf, stopWordsOf } from './languages.ts';

/** Turns text into the terms that an index holds; the same on every node, so nothing of it may depend on the machine. */
export interface Analyzer {
  /** Whether the terms of a text are those of its parts when it is cut before this UTF-16 unit. */
  mayCutBefore(unit: number): boolean;
  /** Appends the terms of the text, in order. */
  terms(text: string, into: string[]): void;
  /** The form of a word that is compared with the beginnings of terms (prefixes, wildcards, fuzzy words): never stemmed. */
  word(text: string): string;
}

/** Terms are cut here: as in the reference engine a longer word is several terms. */
export const termLengthMax = 255;

/**
 * Words of any script: letters and digits with the marks that belong to them. Ideographs and kana are words of their own, since
 * such texts have no blanks.
 */
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[[\p{L}\p{N}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]][[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]]*/gv;
const letterPattern = /\p{L}[\p{L}\p{M}]*/gu;
const blankPattern = /[^\s\0]+/gu;
const asciiEnd = 0x80;

class PatternAnalyzer implements Analyzer {
  readonly #pattern: RegExp;
  readonly #isLower: boolean;
  readonly #isWords: boolean;
  /** Of each character of ASCII whether it is one of words: 1. A word of them goes as far as it can, under each pattern. */
  readonly #plain = new Uint8Array(asciiEnd);

  constructor(pattern: RegExp, isLower: boolean) {
    this.#pattern = pattern;
    this.#isLower = isLower;
    this.#isWords = pattern === wordPattern;
    for (let unit = 0; unit < asciiEnd; unit += 1)
      this.#plain[unit] = String.fromCharCode(unit).match(pattern) === null ? 0 : 1;
  }

  terms(text: string, into: string[]): void {
    const folded = this.word(text);
    if (this.#addPlain(folded, into)) return;
    const found = folded.match(this.#pattern);
    if (found === null) return;
    for (const word of found) pushCut(word, into);
  }

  /** The terms of a text of nothing but ASCII: by far the most texts, and half the time. @returns false for another one */
  #addPlain(text: string, into: string[]): boolean {
    const plain = this.#plain;
    const { length } = text;
    const before = into.length;
    let start = -1;
    for (let at = 0; at < length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit >= asciiEnd) {
        into.length = before;
        return false;
      }
      if (plain[unit] === 1) {
        if (start < 0) start = at;
      } else if (start >= 0) {
        pushCut(text.slice(start, at), into);
        start = -1;
      }
    }
    if (start >= 0) pushCut(text.slice(start), into);
    return true;
  }

  mayCutBefore(unit: number): boolean {
    return isBlank(unit) || (this.#isWords && isIdeograph(unit));
  }

  word(text: string): string {
    return this.#isLower ? text.toLowerCase() : text;
  }
}

/** The whole text is one term, cut at the longest that a term may be. */
const keyword: Analyzer = {
  mayCutBefore: () => false,
  terms(text, into) {
    if (text !== '') into.push(cut(text.replaceAll('\0', ' '), 0));
  },
  word: (text) => text,
};

/** Drops stop words and stems what is left. */
class LanguageAnalyzer implements Analyzer {
  readonly #words: Analyzer;
  readonly #stopWords: ReadonlySet<string>;
  readonly #stem: ((word: string) => string) | undefined;
  /** Texts repeat their words; stems are kept up to some thousand. */
  readonly #stems = new Map<string, string>();

  constructor(
    words: Analyzer,
    stopWords: ReadonlySet<string>,
    stem: ((word: string) => string) | undefined,
  ) {
    this.#words = words;
    this.#stopWords = stopWords;
    this.#stem = stem;
  }

  terms(text: string, into: string[]): void {
    const words: string[] = [];
    this.#words.terms(text, words);
    for (const word of words) {
      if (this.#stopWords.has(word)) continue;
      into.push(this.#stemOf(word));
    }
  }

  mayCutBefore(unit: number): boolean {
    return this.#words.mayCutBefore(unit);
  }

  word(text: string): string {
    return this.#words.word(text);
  }

  #stemOf(word: string): string {
    if (this.#stem === undefined) return word;
    const known = this.#stems.get(word);
    if (known !== undefined) return known;
    const stem = this.#stem(word) || word;
    if (this.#stems.size >= stemsKept) this.#stems.clear();
    this.#stems.set(word, stem);
    return stem;
  }
}

const stemsKept = 20_000;

/** No pattern looks across one, and no letter's lower case depends on what is beyond it (that of a Greek sigma does on its word). */
function isBlank(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}

/** Most of those that are words of their own; as with blanks, nothing depends on what is beyond one. */
function isIdeograph(unit: number): boolean {
  if (unit < 0x3041 || unit > 0x9fff) return false;
  return unit >= 0x3400 || unit <= 0x3096 || (unit >= 0x30a1 && unit <= 0x30fa);
}

function pushCut(word: string, into: string[]): void {
  if (word.length <= termLengthMax) {
    into.push(word);
    return;
  }
  for (let from = 0; from < word.length; ) {
    const piece = cut(word, from);
    into.push(piece);
    from += piece.length;
  }
}

/** At most `termLengthMax` units from there, surrogate pairs kept together. */
function cut(text: string, from: number): string {
  const end = from + termLengthMax;
  if (text.length <= end) return text.slice(from);
  const last = text.charCodeAt(end - 1);
  return text.slice(from, last >= 0xd800 && last <= 0xdbff ? end - 1 : end);
}

const standard = new PatternAnalyzer(wordPattern, true);
const simple = new PatternAnalyzer(letterPattern, true);

const known = new Map<AnalyzerName, Analyzer>();

/** Cost: one object per name and process. */
export function analyzerOf(name: AnalyzerName): Analyzer {
  let analyzer = known.get(name);
  if (analyzer === undefined) {
    analyzer = makeAnalyzer(name);
    known.set(name, analyzer);
  }
  return analyzer;
}

/** As `analyzerOf` for a name of METADATA, which DDL has checked. */
export function analyzerFor(text: string): Analyzer {
  return analyzerOf(analyzerNamed(text) ?? 'standard');
}

function makeAnalyzer(name: AnalyzerName): Analyzer {
  switch (name) {
    case 'standard':
      return standard;
    case 'simple':
      return simple;
    case 'whitespace':
      return new PatternAnalyzer(blankPattern, false);
    case 'keyword':
      return keyword;
    case 'stop':
      return new LanguageAnalyzer(simple, stopWordsOf('english'), undefined);
    default:
      return new LanguageAnalyzer(standard, stopWordsOf(name), stemmerOf(name));
  }
}
