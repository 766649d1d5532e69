import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A PostgreSQL server of the bench's own with durable commits, on a Unix socket and, where asked for, on loopback. */
export class PostgresServer {
  readonly directory: string;
  readonly #server: ChildProcess;

  private constructor(directory: string, server: ChildProcess) {
    this.directory = directory;
    this.#server = server;
  }

  /**
   * @param port on 127.0.0.1; a Unix socket only without it
   * @returns undefined where PostgreSQL is not installed
   */
  static async open(port?: number): Promise<PostgresServer | undefined> {
    if (spawnSync('postgres', ['--version']).status !== 0) return undefined;
    const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-pg-'));
    const [command, ...prefix] = asServerUser(directory);
    const data = join(directory, 'data');
    execFileSync(command, [...prefix, 'initdb', '-D', data, '-A', 'trust', '-U', 'bench'], {
      stdio: 'ignore',
      cwd: directory,
    });
    const settings = [
      ...(port === undefined
        ? ['listen_addresses=']
        : ['listen_addresses=127.0.0.1', `port=${port}`]),
      'shared_buffers=512MB',
      'work_mem=64MB',
      'jit=off',
    ];
    const parameters = settings.flatMap((one) => ['-c', one]);
    const server = spawn(
      command,
      [...prefix, 'postgres', '-D', data, '-k', directory, ...parameters],
      { stdio: 'ignore', cwd: directory },
    );
    const peer = new PostgresServer(directory, server);
    for (let tries = 0; tries < 100 && !peer.#isReady(port); tries += 1) await pause(100);
    return peer;
  }

  #isReady(port: number | undefined): boolean {
    const address = port === undefined ? [] : ['-p', String(port)];
    return spawnSync('pg_isready', ['-h', this.directory, ...address]).status === 0;
  }

  /** @returns what `psql` prints: tuples only, unaligned; @throws Error when a command fails */
  psql(commands: readonly string[], port?: number): string {
    const address = port === undefined ? [] : ['-p', String(port)];
    const connection = ['-X', '-q', '-t', '-A', '-h', this.directory, ...address, '-U', 'bench'];
    const parameters = commands.flatMap((command) => ['-c', command]);
    return execFileSync(
      'psql',
      [...connection, 'postgres', '-v', 'ON_ERROR_STOP=1', ...parameters],
      { encoding: 'utf8' },
    );
  }

  async close(): Promise<void> {
    const ended = new Promise<void>((done) => {
      this.#server.once('exit', () => done());
    });
    // A signal to the server's wrapper would not reach the server.
    const [command, ...prefix] = asServerUser(this.directory);
    const data = join(this.directory, 'data');
    execFileSync(command, [...prefix, 'pg_ctl', 'stop', '-m', 'fast', '-D', data], {
      stdio: 'ignore',
      cwd: this.directory,
    });
    await ended;
    rmSync(this.directory, { recursive: true, force: true });
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
