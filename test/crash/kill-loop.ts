import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mulberry32 } from '../bench/spine/data.ts';
import { HttpClient, startServer } from '../support/server-process.ts';
import { verify } from './verify.ts';
import { createSchema, Ledger, runClient } from './workload.ts';

export interface KillLoopOptions {
  readonly kills: number;
  readonly seed: number;
  readonly clients: number;
  /** The server lives this long under load before it is killed, chosen at random per round. */
  readonly lifetimeMsMin: number;
  readonly lifetimeMsMax: number;
  readonly report: (line: string) => void;
}

export interface KillLoopOutcome {
  readonly kills: number;
  readonly violations: readonly string[];
  readonly itemCount: number;
  readonly edgeCount: number;
  readonly increments: number;
  readonly transfers: number;
}

const password = 'crash-test-password';

const lookMs = 10;
const lookCountMax = 3000;

/** A busy machine may not get to the first write in that time: it is waited for, so that a kill meets a server that writes. */
async function underLoad(ledger: Ledger, lifetimeMs: number): Promise<void> {
  await sleep(lifetimeMs);
  const hasWritten = () => ledger.items.size > 0 && ledger.increments > 0;
  for (let look = 0; look < lookCountMax && !hasWritten(); look += 1) await sleep(lookMs);
}

/** Starts, loads, kills with SIGKILL, starts again, verifies: `kills` times. Stops at the first violation. */
export async function runKillLoop(options: KillLoopOptions): Promise<KillLoopOutcome> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-crash-'));
  const random = mulberry32(options.seed);
  const ledger = new Ledger();
  let violations: string[] = [];
  let kills = 0;
  let server = await startServer({ rootPath, rootPassword: password });
  try {
    await createSchema(new HttpClient(server.port, 'root', password));
    while (kills < options.kills && violations.length === 0) {
      const lifetimeMs =
        options.lifetimeMsMin + random() * (options.lifetimeMsMax - options.lifetimeMsMin);
      const client = new HttpClient(server.port, 'root', password);
      const clients = Array.from({ length: options.clients }, (_, n) =>
        runClient(client, ledger, options.seed * 1_000_000 + kills * 100 + n),
      );
      const all = Promise.all(clients);
      await Promise.race([underLoad(ledger, lifetimeMs), all]);
      await server.kill();
      await all;
      kills += 1;
      server = await startServer({ rootPath, rootPassword: password });
      violations = await verify(new HttpClient(server.port, 'root', password), ledger);
      if (kills % 10 === 0 || violations.length > 0) {
        options.report(
          `${kills} kills, ${ledger.items.size} items, ${ledger.edges.size} edges, counter ${ledger.increments}, ${ledger.relabelled} labels, ${ledger.transfers} transfers, ${violations.length} violations`,
        );
      }
    }
  } finally {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
  return {
    kills,
    violations,
    itemCount: ledger.items.size,
    edgeCount: ledger.edges.size,
    increments: ledger.increments,
    transfers: ledger.transfers,
  };
}
