import { RandomStatements } from './random-statements.ts';

/** The types that `RandomStatements` names. */
export const randomGraphSchema: readonly string[] = [
  'CREATE VERTEX TYPE P BUCKETS 2',
  'CREATE VERTEX TYPE S EXTENDS P',
  'CREATE VERTEX TYPE SS EXTENDS S',
  'CREATE VERTEX TYPE Q',
  'CREATE EDGE TYPE K',
  'CREATE EDGE TYPE L EXTENDS K',
  'CREATE EDGE TYPE U UNIDIRECTIONAL',
  ...['a INTEGER', 'b STRING', 'c DOUBLE', 'd DATE', 'x INTEGER', 'y INTEGER', 'id INTEGER'].map(
    (property) => `CREATE PROPERTY P.${property}`,
  ),
  'CREATE PROPERTY P.tags LIST OF STRING',
  'CREATE PROPERTY P.link LINK',
  'CREATE PROPERTY P.m MAP',
  'CREATE PROPERTY Q.a INTEGER',
  'CREATE PROPERTY Q.b STRING',
  'CREATE PROPERTY K.w INTEGER',
];

/** Indexes that may find what they ask for. */
export const randomGraphIndexes: readonly string[] = [
  'P (id) UNIQUE',
  'P (a) NOTUNIQUE',
  'P (b) NOTUNIQUE',
  'P (c) NOTUNIQUE NULL_STRATEGY INDEX',
  'P (d) NOTUNIQUE',
  'P (x, y) NOTUNIQUE',
  'P (x, y, a) NOTUNIQUE NULL_STRATEGY INDEX',
  'P (link) NOTUNIQUE',
  'P (m BY KEY) NOTUNIQUE',
  'P (m BY VALUE) NOTUNIQUE',
  'S (a) NOTUNIQUE',
  'Q (a) NOTUNIQUE',
  'Q (b) UNIQUE_HASH',
  'K (w) NOTUNIQUE',
].map((index) => `CREATE INDEX ON ${index}`);

/** Statements that fill the graph, in order; the same each time. */
export function* randomGraphRecords(): Generator<string> {
  const values = new RandomStatements(1);
  const lists = ['[]', "['t']", "['t', 'u']", "['u', 'u', 'v']"];
  for (let id = 0; id < 36; id += 1) {
    const given = [
      `a = ${values.below(9)}`,
      `b = '${values.pick(['u', 'v', 'uv', 'w', 'U', '5'])}'`,
      `c = ${values.below(12) / 4}`,
      `d = '2024-01-0${1 + values.below(9)}'`,
      `x = ${values.below(4)}`,
      `y = ${values.below(5)}`,
      `tags = ${values.pick(lists)}`,
      `link = #1:${values.below(5)}`,
      `m = {'k${values.below(3)}': ${values.below(3)}}`,
    ].filter(() => values.below(5) > 0);
    yield `INSERT INTO ${values.pick(['P', 'P', 'S', 'SS'])} SET ${[`id = ${id}`, ...given].join(', ')}`;
  }
  for (let at = 0; at < 8; at += 1) yield `INSERT INTO Q SET a = ${at % 5}, b = 'q${at}'`;
  for (let at = 0; at < 90; at += 1) {
    const end = values.below(5) === 0 ? `Q WHERE b = 'q${values.below(8)}'` : '';
    const to = end === '' ? `P WHERE id = ${values.below(36)}` : end;
    yield `CREATE EDGE ${values.pick(['K', 'K', 'L', 'U'])} FROM (SELECT FROM P WHERE id = ${values.below(36)}) TO (SELECT FROM ${to}) SET w = ${values.below(6)}`;
  }
  yield 'DELETE FROM P WHERE id = 17';
}
