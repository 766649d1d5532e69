import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as english } from '@orama/stemmers/english';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stopwords as danishStops } from '@orama/stopwords/danish';
import { stopwords as dutchStops } from '@orama/stopwords/dutch';
import { stopwords as finnishStops } from '@orama/stopwords/finnish';
import { stopwords as frenchStops } from '@orama/stopwords/french';
import { stopwords as germanStops } from '@orama/stopwords/german';
import { stopwords as hungarianStops } from '@orama/stopwords/hungarian';
import { stopwords as italianStops } from '@orama/stopwords/italian';
import { stopwords as norwegianStops } from '@orama/stopwords/norwegian';
import { stopwords as portugueseStops } from '@orama/stopwords/portuguese';
import { stopwords as romanianStops } from '@orama/stopwords/romanian';
import { stopwords as russianStops } from '@orama/stopwords/russian';
import { stopwords as spanishStops } from '@orama/stopwords/spanish';
import { stopwords as swedishStops } from '@orama/stopwords/swedish';

/** What is known of a language: the Snowball stemmer and the words that say nothing. */

/** The short English list of Lucene, which leaves words such as `own` and `under` to be found. */
const englishStops =
  'a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with'.split(
    ' ',
  );

const stemmers: Readonly<Record<string, (word: string) => string>> = {
  danish,
  dutch,
  english,
  finnish,
  french,
  german,
  hungarian,
  italian,
  norwegian,
  portuguese,
  romanian,
  russian,
  spanish,
  swedish,
};

const stopWords: Readonly<Record<string, readonly unknown[]>> = {
  danish: danishStops,
  dutch: dutchStops,
  english: englishStops,
  finnish: finnishStops,
  french: frenchStops,
  german: germanStops,
  hungarian: hungarianStops,
  italian: italianStops,
  norwegian: norwegianStops,
  portuguese: portugueseStops,
  romanian: romanianStops,
  russian: russianStops,
  spanish: spanishStops,
  swedish: swedishStops,
};

export function stemmerOf(language: string): (word: string) => string {
  return stemmers[language] ?? ((word) => word);
}

export function stopWordsOf(language: string): ReadonlySet<string> {
  return new Set((stopWords[language] ?? []).map((word) => String(word).toLowerCase()));
}
