import { loadOnDemand } from '#core/load-on-demand.ts';

/** What is known of a language: the Snowball stemmer and the words that say nothing. */

type Stemmer = (word: string) => string;

/** The short English list of Lucene, which leaves words such as `own` and `under` to be found. */
const englishStops =
  'a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with'.split(
    ' ',
  );

const languages: ReadonlySet<string> = new Set([
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'hungarian',
  'italian',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'spanish',
  'swedish',
]);

export function stemmerOf(language: string): Stemmer {
  if (!languages.has(language)) return (word) => word;
  const path = `@orama/stemmers/${language}`;
  return loadOnDemand<{ readonly stemmer: Stemmer }>(import.meta.url, path)().stemmer;
}

export function stopWordsOf(language: string): ReadonlySet<string> {
  if (!languages.has(language)) return new Set();
  if (language === 'english') return new Set(englishStops);
  const path = `@orama/stopwords/${language}`;
  const { stopwords } = loadOnDemand<{ readonly stopwords: readonly unknown[] }>(
    import.meta.url,
    path,
  )();
  return new Set(stopwords.map((word) => String(word).toLowerCase()));
}
