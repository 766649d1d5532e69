import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
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

/** A PostgreSQL server of the bench's own, on a Unix socket only, with the tables loaded, indexed and analysed. */
export class PostgresPeer {
  readonly #directory: string;
  readonly #server: ChildProcess;

  private constructor(directory: string, server: ChildProcess) {
    this.#directory = directory;
    this.#server = server;
  }

  /** @returns undefined where PostgreSQL is not installed */
  static async open(tables: string): Promise<PostgresPeer | undefined> {
    if (spawnSync('postgres', ['--version']).status !== 0) return undefined;
    const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-pg-'));
    const [command, ...prefix] = asServerUser(directory);
    const data = join(directory, 'data');
    execFileSync(command, [...prefix, 'initdb', '-D', data, '-A', 'trust', '-U', 'bench'], {
      stdio: 'ignore',
      cwd: directory,
    });
    const settings = ['listen_addresses=', 'shared_buffers=512MB', 'work_mem=64MB', 'jit=off'];
    const server = spawn(
      command,
      [
        ...prefix,
        'postgres',
        '-D',
        data,
        '-k',
        directory,
        ...settings.flatMap((one) => ['-c', one]),
      ],
      { stdio: 'ignore', cwd: directory },
    );
    const peer = new PostgresPeer(directory, server);
    for (let tries = 0; tries < 100 && !peer.#isReady(); tries += 1) await pause(100);
    peer.#load(tables);
    return peer;
  }

  #isReady(): boolean {
    return spawnSync('pg_isready', ['-h', this.#directory]).status === 0;
  }

  #load(tables: string): void {
    for (const [name] of lsqbEdgeTypes) {
      this.#psql(`CREATE TABLE ${name} (src integer NOT NULL, dst integer NOT NULL)`);
      this.#psql(`\\copy ${name} FROM '${join(tables, name)}.csv' CSV`);
      this.#psql(
        `CREATE INDEX ON ${name} (src, dst)`,
        `CREATE INDEX ON ${name} (dst, src)`,
        `VACUUM ANALYZE ${name}`,
      );
    }
    this.#psql('CREATE TABLE Post (id integer PRIMARY KEY)');
    this.#psql(`\\copy Post FROM '${join(tables, 'Post')}.csv' CSV`);
    this.#psql('VACUUM ANALYZE Post');
  }

  #psql(...commands: readonly string[]): string {
    const connection = ['-X', '-q', '-t', '-A', '-h', this.#directory, '-U', 'bench', 'postgres'];
    const parameters = commands.flatMap((command) => ['-c', command]);
    return execFileSync('psql', [...connection, '-v', 'ON_ERROR_STOP=1', ...parameters], {
      encoding: 'utf8',
    });
  }

  /** @returns the count and the server's milliseconds, without the start of the client */
  count(joins: string): { readonly count: number; readonly ms: number } {
    const output = this.#psql('\\timing on', joins);
    const count = /^(\d+)$/m.exec(output)?.[1];
    const ms = /Time: ([\d.]+) ms/.exec(output)?.[1];
    return { count: Number(count), ms: Number(ms) };
  }

  async close(): Promise<void> {
    const ended = new Promise<void>((done) => {
      this.#server.once('exit', () => done());
    });
    // A signal to the server's wrapper would not reach the server.
    const [command, ...prefix] = asServerUser(this.#directory);
    const data = join(this.#directory, 'data');
    execFileSync(command, [...prefix, 'pg_ctl', 'stop', '-m', 'fast', '-D', data], {
      stdio: 'ignore',
      cwd: this.#directory,
    });
    await ended;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** PostgreSQL refuses to run as root: then it runs as its own user, to whom the directory is given. */
function asServerUser(directory: string): readonly [string, ...string[]] {
  if (process.getuid?.() !== 0) return ['env'];
  const id = (flag: string): number =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  chownSync(directory, id('-u'), id('-g'));
  return ['runuser', '-u', 'postgres', '--'];
}
