import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PostgresServer } from '../postgres.ts';
import { type LsqbData, lsqbEdgeTypes } from './lsqb-data.ts';
import { lsqbQueries } from './lsqb-queries.ts';

/** The LSQB graph as tables, one per edge type with the columns src and dst, as CSV files. */
export function writeTables(data: LsqbData, directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const [name] of lsqbEdgeTypes) {
    const { from, to } = data.edges[name];
    const lines: string[] = [];
    for (let row = 0; row < from.length; row += 1) {
      lines.push(`${from[row]},${to[row]}`);
      // Both directions of a friendship, as in LSQB's tables.
      if (name === 'Person_knows_Person') lines.push(`${to[row]},${from[row]}`);
    }
    writeFileSync(join(directory, `${name}.csv`), `${lines.join('\n')}\n`);
  }
  const posts = Array.from({ length: data.count.Post }, (_, rank) => data.first.Post + rank);
  writeFileSync(join(directory, 'Post.csv'), `${posts.join('\n')}\n`);
}

/** DuckDB's counts, by its Python package. @returns undefined where that is not installed */
export function duckdbCounts(directory: string): ReadonlyMap<string, number> | undefined {
  const tables = lsqbEdgeTypes.map(
    ([name]) =>
      `CREATE TABLE ${name} AS SELECT * FROM read_csv('${join(directory, name)}.csv', columns={'src':'INTEGER','dst':'INTEGER'})`,
  );
  tables.push(
    `CREATE TABLE Post AS SELECT * FROM read_csv('${join(directory, 'Post')}.csv', columns={'id':'INTEGER'})`,
  );
  const program = `
import duckdb, json, sys
work = json.load(sys.stdin)
db = duckdb.connect()
db.execute('SET enable_progress_bar = false')
for statement in work['tables']: db.execute(statement)
print(json.dumps({name: db.execute(text).fetchone()[0] for name, text in work['queries'].items()}))`;
  const queries = Object.fromEntries(lsqbQueries.map(({ name, joins }) => [name, joins]));
  const run = spawnSync('python3', ['-c', program], {
    input: JSON.stringify({ tables, queries }),
    encoding: 'utf8',
  });
  if (run.status !== 0) return undefined;
  return new Map(Object.entries(JSON.parse(run.stdout) as Record<string, number>));
}

/** PostgreSQL with the tables loaded, indexed and analysed. */
export class PostgresPeer {
  readonly #server: PostgresServer;

  private constructor(server: PostgresServer) {
    this.#server = server;
  }

  /** @returns undefined where PostgreSQL is not installed */
  static async open(tables: string): Promise<PostgresPeer | undefined> {
    const server = await PostgresServer.open();
    if (server === undefined) return undefined;
    const peer = new PostgresPeer(server);
    peer.#load(tables);
    return peer;
  }

  #load(tables: string): void {
    for (const [name] of lsqbEdgeTypes) {
      this.#server.psql([
        `CREATE TABLE ${name} (src integer NOT NULL, dst integer NOT NULL)`,
        `\\copy ${name} FROM '${join(tables, name)}.csv' CSV`,
        `CREATE INDEX ON ${name} (src, dst)`,
        `CREATE INDEX ON ${name} (dst, src)`,
        `VACUUM ANALYZE ${name}`,
      ]);
    }
    this.#server.psql([
      'CREATE TABLE Post (id integer PRIMARY KEY)',
      `\\copy Post FROM '${join(tables, 'Post')}.csv' CSV`,
      'VACUUM ANALYZE Post',
    ]);
  }

  /** @returns the count and the server's milliseconds, without the start of the client */
  count(joins: string): { readonly count: number; readonly ms: number } {
    const output = this.#server.psql(['\\timing on', joins]);
    const count = /^(\d+)$/m.exec(output)?.[1];
    const ms = /Time: ([\d.]+) ms/.exec(output)?.[1];
    return { count: Number(count), ms: Number(ms) };
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}
