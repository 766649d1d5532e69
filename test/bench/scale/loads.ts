import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { HttpClient, startServer } from '../../support/server-process.ts';
import { residentMegabytes } from '../child.ts';
import { type Comparison, elapsedMs } from '../measure.ts';
import { PostgresServer } from '../postgres.ts';
import { spineParts } from '../spine/data.ts';
import { benchDatabase, csvLines, jsonLines, spineSchema, uploadBody } from '../spine/upload.ts';
import { atMost, password } from './sides.ts';

interface Size {
  readonly vertices: number;
  readonly edges: number;
}

const small: Size = { vertices: 100_000, edges: 1_000_000 };
const large: Size = { vertices: 1_000_000, edges: 10_000_000 };
const secondsMost = { jsonl: 2, csv: 1.7 } as const;
type Form = keyof typeof secondsMost;

/**
 * `/batch` of a graph and of one ten times as large, beside PostgreSQL's COPY of a file and the making of its indexes.
 * The texts of ours are made while they are sent, which costs the client a part of the second core.
 */
export async function benchLoads(): Promise<Comparison[]> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  try {
    const rows: Comparison[] = [];
    for (const form of ['jsonl', 'csv'] as const) {
      const { seconds } = await loadOurs(directory, small, form);
      const name = `1M edges by /batch as ${form}`;
      rows.push(atMost(name, seconds, { limit: secondsMost[form], unit: 's' }));
    }
    const copied = await copySeconds(directory, large);
    for (const form of ['jsonl', 'csv'] as const) {
      const ours = await loadOurs(directory, large, form);
      rows.push(...largeRows(form, ours, copied));
    }
    return rows;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function largeRows(form: Form, ours: Load, copied: number | undefined): Comparison[] {
  const name = `10M edges by /batch as ${form}`;
  const ratio = ours.seconds / (copied ?? Number.NaN);
  const medians = new Map([['ours', ours.seconds]]);
  if (copied !== undefined) medians.set('postgres', copied);
  return [
    {
      name,
      medians,
      unit: 's',
      ratio,
      target: '<= 1.2',
      isReached: copied === undefined || ratio <= 1.2,
      remarks: '',
    },
    atMost(`${name}: most memory`, ours.peakMegabytes, {
      limit: 700,
      unit: 'MB',
      remarks: `at most ${Math.round(ours.ownMegabytes)} MB its own, the rest pages of its files`,
    }),
    atMost(`${name}: disk`, ours.diskMegabytes, { limit: 1300, unit: 'MB' }),
  ];
}

interface Load {
  readonly seconds: number;
  /** With pages of files that are mapped. */
  readonly peakMegabytes: number;
  /** Without them; looked at every 100 ms. */
  readonly ownMegabytes: number;
  readonly diskMegabytes: number;
}

async function loadOurs(directory: string, size: Size, form: Form): Promise<Load> {
  const rootPath = join(directory, 'server');
  execFileSync('mkdir', ['-p', rootPath]);
  const server = await startServer({ rootPath, rootPassword: password });
  const { pid = 0 } = server.child;
  let ownMegabytes = 0;
  const looks = setInterval(() => {
    ownMegabytes = Math.max(ownMegabytes, residentMegabytes(pid, 'RssAnon'));
  }, 100);
  try {
    const client = new HttpClient(server.port, 'root', password);
    await client.server(`create database ${benchDatabase}`);
    for (const statement of spineSchema) await client.sql(benchDatabase, statement);
    const parts = spineParts(size.vertices, size.edges);
    const pieces = form === 'jsonl' ? jsonLines(parts) : csvLines(parts);
    const type = form === 'jsonl' ? 'application/x-ndjson' : 'text/csv';
    const ms = await elapsedMs(() => uploadBody(server.port, password, pieces, type));
    const [row] = await client.sql(benchDatabase, 'SELECT count(*) AS n FROM KNOWS');
    if (row?.['n'] !== size.edges) throw new Error(`${String(row?.['n'])} edges`);
    const databases = join(rootPath, 'databases');
    const [used = ''] = execFileSync('du', ['-sm', databases], { encoding: 'utf8' }).split('\t');
    return {
      seconds: ms / 1000,
      peakMegabytes: residentMegabytes(pid, 'VmHWM'),
      ownMegabytes,
      diskMegabytes: Number(used),
    };
  } finally {
    clearInterval(looks);
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

/** Seconds of COPY into empty tables and of the indexes and checkpoint after it. @returns undefined without PostgreSQL */
async function copySeconds(directory: string, size: Size): Promise<number | undefined> {
  const postgres = await PostgresServer.open();
  if (postgres === undefined) return undefined;
  const people = join(directory, 'person.csv');
  const knows = join(directory, 'knows.csv');
  try {
    await writeTables(size, people, knows);
    postgres.psql([
      'CREATE TABLE person (id integer, name text, age integer, city text, score double precision)',
      'CREATE TABLE knows (src integer NOT NULL, dst integer NOT NULL, since integer)',
    ]);
    const start = performance.now();
    postgres.psql([
      `\\copy person FROM '${people}' CSV`,
      `\\copy knows FROM '${knows}' CSV`,
      'ALTER TABLE person ADD PRIMARY KEY (id)',
      'CREATE INDEX ON knows (src, dst)',
      'CREATE INDEX ON knows (dst, src)',
      'CHECKPOINT',
    ]);
    return (performance.now() - start) / 1000;
  } finally {
    await postgres.close();
    rmSync(people, { force: true });
    rmSync(knows, { force: true });
  }
}

async function writeTables({ vertices, edges }: Size, people: string, knows: string) {
  const [persons, friends] = [createWriteStream(people), createWriteStream(knows)];
  for (const part of spineParts(vertices, edges)) {
    let piece = '';
    if (part.kind === 'persons')
      for (const { id, name, age, city, score } of part.persons)
        piece += `${id},${name},${age},${city},${score}\n`;
    else
      for (let edge = 0; edge < part.from.length; edge += 1)
        piece += `${part.from[edge]},${part.to[edge]},${part.since[edge]}\n`;
    const file = part.kind === 'persons' ? persons : friends;
    if (!file.write(piece)) await new Promise<void>((done) => file.once('drain', () => done()));
  }
  persons.end();
  friends.end();
  await Promise.all([finished(persons), finished(friends)]);
}
