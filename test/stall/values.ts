import type { HttpClient } from '../support/server-process.ts';

/** The largest values that limits.md allows in one call, or near to it: texts of 16 MiB, lists of 500,000 and a million. */
export const databaseName = 'stall';
const textLength = 16 * 1024 * 1024;

const words = 'the quick Brown fox jumps over a lazy dog; 4711 times, and-then some_more. ';

function textOf(sample: string): string {
  return sample.repeat(Math.ceil(textLength / sample.length)).slice(0, textLength);
}

/** A permutation of 0..count-1. */
function scattered(count: number): number[] {
  return Array.from({ length: count }, (_, n) => (n * 7_919 + 13) % count);
}

const million = 1_000_000;
const half = 500_000;
const keyCount = 100_000;

function mapOf(keys: number, value: (n: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: keys }, (_, n) => [`key ${n}`, value(n)]));
}

function listsOf(count: number): Readonly<Record<string, unknown>> {
  const order = scattered(count);
  return {
    n: order,
    f: order.map((n) => n + 0.25),
    s: order.map((n) => `text number ${n}`),
  };
}

function nested(depth: number): unknown {
  let value: unknown = [1, 2, 3];
  for (let n = 0; n < depth; n += 1) value = [value, n];
  return value;
}

function wkt(points: number, radius: number): string {
  const ring = Array.from({ length: points }, (_, n) => {
    const angle = (2 * Math.PI * n) / points;
    return `${(Math.cos(angle) * radius).toFixed(6)} ${(Math.sin(angle) * radius).toFixed(6)}`;
  });
  return `POLYGON ((${[...ring, ring[0]].join(', ')}))`;
}

/** Type -> makes its only record. */
const records: Readonly<Record<string, () => Readonly<Record<string, unknown>>>> = {
  One: () => ({ x: 1 }),
  T: () => ({ t: textOf(words) }),
  T2: () => ({ t: textOf(words), t2: `${textOf(words).slice(0, -1)}!` }),
  U: () => ({ u: textOf('übergrößenträger Äpfel and 漢字 😀, ') }),
  SP: () => ({ t: `${' '.repeat(textLength / 2 - 1)}x${' '.repeat(textLength / 2)}` }),
  CSV: () => ({ t: 'some words of thirty letters ab,'.repeat(half).slice(0, -1) }),
  B: () => ({ b: Buffer.alloc((textLength * 3) / 4, 'bytes').toString('base64') }),
  J: () => ({ j: JSON.stringify(scattered(half).map((n) => ({ n, s: `a text ${n}` }))) }),
  JM: () => ({ j: JSON.stringify(mapOf(half, (n) => [n, `text ${n}`])) }),
  L: () => listsOf(half),
  LN: () => ({ n: listsOf(million)['n'] }),
  LF: () => ({ n: listsOf(million)['f'] }),
  LS: () => ({ n: listsOf(million)['s'] }),
  LN2: () => ({ n: scattered(million), o: scattered(million) }),
  HN2: () => ({ n: scattered(half), o: scattered(half).map((n) => n + 250_000) }),
  HS2: () => ({
    n: scattered(half).map((n) => `text number ${n}`),
    o: scattered(half).map((n) => `text number ${n + 250_000}`),
  }),
  LT: () => ({ n: Array.from({ length: 256 }, (_, n) => `${n}`.padStart(65_536, 'x')) }),
  LD: () => ({ n: scattered(half).map((n) => 1_700_000_000_000 + n) }),
  LM: () => ({
    n: scattered(keyCount).map((n) => ({ k: n % 1000, v: `v ${n}`, score: n })),
  }),
  LP: () => ({ n: scattered(keyCount).map((n) => [`key ${n}`, n]) }),
  LL: () => ({ n: scattered(half).map((n) => [n]) }),
  M: () => ({ m: mapOf(keyCount, (n) => n) }),
  M2: () => ({ m: mapOf(keyCount, (n) => n), o: mapOf(keyCount, (n) => n + 1) }),
  ME: () => ({ m: mapOf(5_000, (n) => ({ a: n, b: { c: `c ${n}`, d: null } })) }),
  MD: () => ({ m: Object.fromEntries(scattered(keyCount).map((n) => [`a${n % 100}.b${n}`, n])) }),
  D: () => ({ d: nested(28) }),
  G: () => ({ g: wkt(9_900, 10), h: wkt(9_800, 10.00001), p: 'POINT (1 1)' }),
  GP: () => ({ n: scattered(half).map((n) => [n / 1e5, (n * 3) / 1e5]) }),
};

export async function loadValues(
  client: HttpClient,
  only: (type: string) => boolean,
): Promise<void> {
  await client.server(`create database ${databaseName}`);
  for (const [type, make] of Object.entries(records)) {
    if (!only(type)) continue;
    await client.sql(databaseName, `CREATE DOCUMENT TYPE ${type}`);
    const fields = make();
    const assignments = Object.keys(fields).map((name) => `${name} = :${name}`);
    const answer = await client.request('POST', `/command/${databaseName}`, {
      language: 'sql',
      command: `INSERT INTO ${type} SET ${assignments.join(', ')} RETURN @rid`,
      params: fields,
    });
    if (answer.status !== 200)
      throw new Error(`${type}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`);
  }
}
