/** What the demo adds for searches: vectors of glosses, and the towns of a world that is made up. */

export const vectorDimensions = 128;

export const searchSchema: readonly string[] = [
  'CREATE PROPERTY Synset.embedding ARRAY_OF_FLOATS',
  'CREATE INDEX ON Synset (gloss) FULL_TEXT METADATA {"analyzer": "english"}',
  `CREATE INDEX ON Synset (embedding) LSM_VECTOR METADATA {"dimensions": ${vectorDimensions}, "similarity": "COSINE"}`,
  'CREATE VERTEX TYPE Town',
  'CREATE PROPERTY Town.name STRING',
  'CREATE PROPERTY Town.place STRING',
  'CREATE INDEX ON Town (place) GEOSPATIAL METADATA {"precision": 8}',
];

/**
 * A random projection of the terms of a text: each term has a direction of its own, the same on every machine, and a text
 * points where its terms point together. No model is needed, and texts that share rare words are near.
 */
export function embeddingOf(text: string): readonly number[] {
  const sum = new Float64Array(vectorDimensions);
  const terms = new Set(text.toLowerCase().match(/[a-z]{4,}/g) ?? []);
  for (const term of terms) {
    let state = 2_166_136_261;
    for (let i = 0; i < term.length; i += 1)
      state = Math.imul(state ^ term.charCodeAt(i), 16_777_619) >>> 0;
    for (let i = 0; i < vectorDimensions; i += 1) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      sum[i] = (sum[i] ?? 0) + (state > 0x7fffffff ? 1 : -1);
    }
  }
  const length = Math.sqrt(sum.reduce((total, x) => total + x * x, 0)) || 1;
  return Array.from(sum, (x) => Math.round((x / length) * 1_000) / 1_000);
}

/** Towns along the coasts of a world that is made up. */
export function* towns(count: number): Generator<Readonly<Record<string, unknown>>> {
  const syllables = ['bar', 'del', 'fen', 'gar', 'lin', 'mor', 'nes', 'port', 'san', 'tor', 'wick'];
  let state = 42;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const part = (): string => syllables[Math.floor(next() * syllables.length)] ?? '';
  for (let i = 0; i < count; i += 1) {
    const name = part() + part() + part();
    const longitude = (next() * 360 - 180).toFixed(4);
    const latitude = (Math.asin(next() * 2 - 1) * (180 / Math.PI)).toFixed(4);
    yield {
      '@type': 'v',
      '@class': 'Town',
      '@id': `t:${i}`,
      name: name.charAt(0).toUpperCase() + name.slice(1),
      place: `POINT (${longitude} ${latitude})`,
    };
  }
}

/** A full-text, a vector, a hybrid and two geo queries. */
export const searchQueries: readonly string[] = [
  "SELECT label, gloss, $score FROM Synset WHERE search_index('Synset[gloss]', '+dog hunting OR herding -breed') ORDER BY $score DESC LIMIT 10",
  "SELECT label, gloss, distance FROM (SELECT expand(vector.neighbors('Synset[embedding]', 'n02086723', 10)))",
  "SELECT label, gloss, score FROM (SELECT expand(vector.fuse(vector.neighbors('Synset[embedding]', 'n02086723', 20), (SELECT @rid, $score AS score FROM Synset WHERE search_index('Synset[gloss]', 'small dog') ORDER BY $score DESC LIMIT 20), {limit: 10})))",
  "SELECT name, place FROM Town WHERE geo.within(place, 'POLYGON ((5 45, 15 45, 15 55, 5 55, 5 45))')",
  "SELECT name, geo.distance(place, geo.point(2.35, 48.86), 'km') AS km FROM Town ORDER BY geo.distance(place, geo.point(2.35, 48.86)) LIMIT 5",
];
