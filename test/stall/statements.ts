import type { HttpClient } from '../support/server-process.ts';
import { databaseName } from './values.ts';

/** Statements over a million records and edges, one after the other: later ones build on earlier ones. */
const million = 1_000_000;
/** Records of R: a million, or fewer for a quick look. */
const rowCount = Number(process.env['STALL_ROWS'] ?? million);
const vertexCount = 100_000;

export async function loadRows(client: HttpClient, port: number, password: string): Promise<void> {
  const setup = [
    'CREATE VERTEX TYPE R',
    'CREATE PROPERTY R.i INTEGER',
    'CREATE PROPERTY R.x INTEGER',
    'CREATE PROPERTY R.g INTEGER',
    'CREATE PROPERTY R.s STRING',
    'CREATE VERTEX TYPE W',
    'CREATE VERTEX TYPE V',
    'CREATE PROPERTY V.i INTEGER',
    'CREATE INDEX ON V (i) UNIQUE',
    'CREATE EDGE TYPE E',
  ];
  for (const statement of setup) await client.sql(databaseName, statement);
  await upload(port, password, rowCount, (n) => ({
    '@type': 'v',
    '@class': 'R',
    i: n,
    x: (n * 7_919) % rowCount,
    g: n % 1000,
    s: `text ${(n * 31) % rowCount}`,
  }));
  await upload(port, password, 20_000, (n) => ({
    '@type': 'v',
    '@class': 'W',
    x: (n * 7_919) % 20_000,
    wide: `${n}`.padEnd(4_000, 'wide row '),
  }));
  await upload(port, password, vertexCount, (n) => ({
    '@type': 'v',
    '@class': 'V',
    '@id': `v${n}`,
    i: n,
  }));
}

async function upload(
  port: number,
  password: string,
  count: number,
  row: (n: number) => Readonly<Record<string, unknown>>,
): Promise<void> {
  const batch = 50_000;
  for (let from = 0; from < count; from += batch) {
    let body = '';
    for (let n = from; n < Math.min(count, from + batch); n += 1)
      body += `${JSON.stringify(row(n))}\n`;
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/batch/${databaseName}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
        'content-type': 'application/x-ndjson',
      },
      body,
    });
    if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

export interface LongStatement {
  readonly text: string;
  readonly parameters?: () => Readonly<Record<string, unknown>>;
  readonly language?: string;
}

const scattered = (): number[] => Array.from({ length: million }, (_, n) => (n * 7_919) % million);

export const statements: readonly LongStatement[] = [
  { text: 'SELECT count(*) AS n FROM (SELECT DISTINCT x FROM R LIMIT 400000)' },
  { text: 'SELECT DISTINCT x FROM R' },
  { text: 'SELECT count(DISTINCT g) AS n FROM R' },
  { text: 'SELECT median(x) AS m FROM (SELECT x FROM R LIMIT 500000)' },
  { text: 'SELECT percentile(x, 0.1, 0.9) AS m FROM (SELECT x FROM R LIMIT 500000)' },
  { text: 'SELECT mode(s) AS m FROM (SELECT s FROM R LIMIT 400000)' },
  { text: 'SELECT set(s).size() AS m FROM (SELECT s FROM R LIMIT 400000)' },
  { text: 'SELECT list(x).size() AS m FROM (SELECT x FROM R LIMIT 500000)' },
  { text: 'SELECT concat(s).length() AS m FROM R' },
  { text: 'SELECT s, count(*) AS n FROM (SELECT s FROM R LIMIT 400000) GROUP BY s LIMIT 1' },
  { text: 'SELECT FROM R ORDER BY s LIMIT 10' },
  { text: 'SELECT x FROM (SELECT FROM W ORDER BY wide, x) LIMIT 1' },
  { text: 'SELECT x FROM (SELECT x FROM R LIMIT 500000) ORDER BY x SKIP 499999' },
  {
    text: 'SELECT count(*) AS n FROM (SELECT :p AS p UNWIND p)',
    parameters: () => ({ p: scattered() }),
  },
  { text: 'SELECT count(*) AS n FROM R WHERE x IN :p', parameters: () => ({ p: scattered() }) },
  {
    text: 'SELECT count(*) AS n FROM R WHERE s IN :p',
    parameters: () => ({ p: scattered().map((n) => `text ${n}`) }),
  },
  { text: 'SELECT count(*) AS n FROM R WHERE x NOT IN :p', parameters: () => ({ p: scattered() }) },
  { text: 'SELECT :p.size() AS n', parameters: () => ({ p: scattered() }) },
  { text: 'SELECT :p AS n', parameters: () => ({ p: scattered() }) },
  {
    text: 'SELECT :p.length() AS n',
    parameters: () => ({ p: 'text of parameters '.repeat(2_500_000) }),
  },
  { text: 'SELECT $a.size() AS n LET $a = (SELECT x FROM R LIMIT 500000)' },
  { text: 'SELECT count(*) AS n FROM (SELECT expand($a) LET $a = (SELECT x FROM R LIMIT 400000))' },
  { text: 'SELECT count(*) AS n FROM W WHERE x IN (SELECT x FROM R WHERE g = 5)' },
  {
    text: 'SELECT count(*) AS n FROM (SELECT x, (SELECT count(*) FROM V WHERE i = $parent.$current.x) AS c FROM W LIMIT 2000)',
  },
  {
    text: 'CREATE EDGE E FROM (SELECT FROM V WHERE i = 0) TO (SELECT FROM V WHERE i > 0 AND i < 50000)',
  },
  {
    text: 'CREATE EDGE E FROM (SELECT FROM V WHERE i > 0 AND i < 50000) TO (SELECT FROM V WHERE i = 50001)',
  },
  { text: 'SELECT count(*) AS n FROM (TRAVERSE out() FROM (SELECT FROM V WHERE i = 0))' },
  {
    text: 'SELECT shortestPath((SELECT FROM V WHERE i = 0), (SELECT FROM V WHERE i = 50001)).size() AS n',
  },
  { text: 'SELECT out().size() AS n FROM V WHERE i = 0' },
  { text: 'SELECT out().out().size() AS n FROM V WHERE i = 0' },
  {
    text: 'MATCH {type: V, as: a, where: (i = 0)}-E->{as: b, optional: true}-E->{as: c, optional: true} RETURN count(*) AS n',
  },
  { text: 'CREATE INDEX ON R (x) NOTUNIQUE' },
  { text: 'CREATE INDEX ON R (s) NOTUNIQUE' },
  { text: 'REBUILD INDEX `R[x]`' },
  { text: 'ALTER PROPERTY R.x MANDATORY true' },
  { text: 'ALTER PROPERTY R.g NOTNULL true' },
  { text: 'ALTER TYPE R NAME R2' },
  { text: 'ALTER TYPE R2 NAME R' },
  { text: 'CHECK DATABASE' },
  { text: 'BACKUP DATABASE' },
  { text: 'EXPORT DATABASE file://stall-export.jsonl.tgz' },
  { text: 'UPDATE R SET g = g + 1 WHERE i < 300000' },
  { text: 'DELETE FROM R WHERE i < 200000' },
  { text: 'DROP INDEX `R[s]`' },
  {
    text: 'INSERT INTO W CONTENT :c',
    parameters: () => ({ c: { list: scattered(), text: 'x'.repeat(10_000_000) } }),
  },
  {
    text: 'INSERT INTO W CONTENT :c',
    parameters: () => ({
      c: Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`p${n}`, `v ${n}`])),
    }),
  },
  { text: 'SELECT FROM W WHERE p5 IS NOT NULL' },
  { text: 'SELECT FROM W WHERE list IS NOT NULL' },
  { text: 'UPDATE W SET a = 1 WHERE list IS NOT NULL' },
  { text: 'DELETE FROM W WHERE list IS NOT NULL' },
  { text: 'DELETE FROM V WHERE i = 0' },
  { text: 'TRUNCATE TYPE R' },
  { text: 'DROP TYPE R' },
  { text: 'DROP TYPE E UNSAFE' },
];
