import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  freePort,
  HttpClient,
  type ServerProcess,
  startServer,
} from '../../support/server-process.ts';
import { cpuSeconds } from '../child.ts';
import { requestBytes } from '../http-load.ts';
import type { Comparison } from '../measure.ts';
import { PostgresServer } from '../postgres.ts';
import type { SpineData } from '../spine/data.ts';
import { benchDatabase, uploadSpine } from '../spine/upload.ts';

export const password = 'bench-password';
export const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;

/** One SQL statement by `/command` as the bytes of its request. */
export function statementBytes(command: string, params: Readonly<Record<string, number>>): Buffer {
  const body = JSON.stringify({ language: 'sql', command, params });
  return requestBytes('POST', `/api/v1/command/${benchDatabase}`, { authorization }, body);
}

/** A server of ours and, where it is installed, PostgreSQL; each with the same persons and edges. */
export interface Sides {
  readonly server: ServerProcess;
  readonly client: HttpClient;
  readonly postgres: { readonly server: PostgresServer; readonly port: number } | undefined;
}

export async function withSides<T>(data: SpineData, work: (sides: Sides) => Promise<T>) {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const server = await startServer({ rootPath, rootPassword: password });
  const port = await freePort();
  const postgres = await PostgresServer.open(port);
  if (postgres === undefined) process.stdout.write('postgres is not installed: no peer\n');
  try {
    await uploadSpine(server.port, password, data);
    if (postgres !== undefined) loadTables(postgres, port, data, rootPath);
    const client = new HttpClient(server.port, 'root', password);
    return await work({ server, client, postgres: postgres && { server: postgres, port } });
  } finally {
    await server.kill();
    await postgres?.close();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

/** The tables of the spine, copied in and indexed; edges both ways, as an engine of graphs finds them. */
function loadTables(
  postgres: PostgresServer,
  port: number,
  { persons, from, to, since }: SpineData,
  directory: string,
): void {
  const people = join(directory, 'person.csv');
  const knows = join(directory, 'knows.csv');
  writeFileSync(
    people,
    persons
      .map(({ id, name, age, city, score }) => `${id},${name},${age},${city},${score}\n`)
      .join(''),
  );
  writeFileSync(
    knows,
    Array.from(from, (src, edge) => `${src},${to[edge]},${since[edge]}\n`).join(''),
  );
  postgres.psql(
    [
      'CREATE TABLE person (id integer, name text, age integer, city text, score double precision)',
      `\\copy person FROM '${people}' CSV`,
      'ALTER TABLE person ADD PRIMARY KEY (id)',
      'CREATE TABLE knows (src integer NOT NULL, dst integer NOT NULL, since integer)',
      `\\copy knows FROM '${knows}' CSV`,
      'CREATE INDEX ON knows (src, dst)',
      'CREATE INDEX ON knows (dst, src)',
      'VACUUM ANALYZE person',
      'VACUUM ANALYZE knows',
    ],
    port,
  );
}

/** Microseconds of our processor time for each of `count` requests. */
export async function microsecondsEach(
  { server }: Sides,
  work: () => Promise<number>,
): Promise<number> {
  const processId = server.child.pid ?? 0;
  const before = cpuSeconds(processId);
  const count = await work();
  return ((cpuSeconds(processId) - before) * 1e6) / count;
}

/** A rate beside that of the peer: at least `least` of it; without a peer nothing is missed. */
export function besidePeer(
  name: string,
  figures: { readonly ours: number; readonly postgres: number | undefined },
  { unit, least, isOtherwiseReached = true, remarks }: BesidePeer,
): Comparison {
  const { ours, postgres } = figures;
  const medians = new Map([['ours', ours]]);
  if (postgres !== undefined) medians.set('postgres', postgres);
  const ratio = ours / (postgres ?? Number.NaN);
  return {
    name,
    medians,
    unit,
    ratio,
    target: `>= ${least}`,
    isReached: (postgres === undefined || ratio >= least) && isOtherwiseReached,
    remarks,
  };
}

export interface BesidePeer {
  readonly unit: string;
  readonly least: number;
  readonly isOtherwiseReached?: boolean;
  readonly remarks: string;
}

/** A figure of ours that must not exceed a limit. */
export function atMost(
  name: string,
  ours: number,
  { limit, unit, remarks = '' }: { limit: number; unit: string; remarks?: string },
): Comparison {
  return {
    name,
    medians: new Map([['ours', ours]]),
    unit,
    ratio: ours / limit,
    target: `<= ${limit} ${unit}`,
    isReached: ours <= limit,
    remarks,
  };
}
