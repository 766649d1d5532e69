import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { percentile } from '../measure.ts';
import type { PostgresServer } from '../postgres.ts';

export interface Transactions {
  /** One transaction in the words of `pgbench`. */
  readonly script: string;
  readonly clients: number;
  readonly seconds: number;
}

export interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs transactions as prepared statements over loopback, each connection one at a time. */
export async function pgbench(
  postgres: PostgresServer,
  port: number,
  { script, clients, seconds }: Transactions,
): Promise<Rate> {
  const directory = join(postgres.directory, `pgbench-${clients}-${script.length}`);
  mkdirSync(directory);
  try {
    const file = join(directory, 'script.sql');
    writeFileSync(file, script);
    const threads = Math.min(clients, 2);
    const options = `-h 127.0.0.1 -p ${port} -U bench -n -M prepared -c ${clients} -j ${threads} -T ${seconds}`;
    const log = ['-l', `--log-prefix=${join(directory, 'log')}`, '-f', file, 'postgres'];
    await run('pgbench', [...options.split(' '), ...log]);
    const latencies: number[] = [];
    for (const name of readdirSync(directory).filter((one) => one.startsWith('log')))
      for (const line of readFileSync(join(directory, name), 'utf8').split('\n'))
        if (line !== '') latencies.push(Number(line.split(' ')[2]) / 1000);
    return {
      perSecond: latencies.length / seconds,
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function run(command: string, parameters: readonly string[]): Promise<void> {
  const child = spawn(command, parameters, { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.on('data', (chunk) => {
    text = (text + String(chunk)).slice(-2000);
  });
  const code = await new Promise<number | null>((done) => {
    child.once('close', (exitCode) => done(exitCode));
  });
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${text}`);
}
