import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mulberry32 } from '../../bench/spine/data.ts';
import {
  quickStart,
  RefusedRequest,
  type ServerProcess,
  startServer,
} from '../../support/server-process.ts';
import { Archives } from './archives.ts';
import { Batches } from './batches.ts';
import { LargeLoads } from './large-loads.ts';
import { DatabaseLife } from './databases.ts';
import { Derived } from './derived.ts';
import { Failures } from './failures.ts';
import { foldCounts } from './fold-notes.ts';
import { InsertStreams } from './insert-streams.ts';
import { Principals } from './principals.ts';
import { Repeats } from './repeats.ts';
import { Attack, type Scenario } from './scenario.ts';
import { SchemaChanges } from './schema-changes.ts';
import { Scripts } from './scripts.ts';
import { Texts } from './texts.ts';

const password = 'attack-test-password';
/** In so many rounds each kind of work on text indexes comes. */
const roundsForAll = 10;
const lowBounds = join(import.meta.dirname, 'low-bounds.ts');

/** `kill`: SIGKILL. `stop`: SIGTERM. `stopThenKill`: SIGTERM, and SIGKILL 50 ms to 1 s later. */
export const endings = ['kill', 'stop', 'stopThenKill'] as const;
export type Ending = (typeof endings)[number];

export const scenarios: Readonly<Record<string, () => Scenario>> = {
  schema: () => new SchemaChanges(),
  databases: () => new DatabaseLife(),
  batches: () => new Batches(),
  largeLoads: () => new LargeLoads(),
  streams: () => new InsertStreams(),
  scripts: () => new Scripts(),
  derived: () => new Derived(),
  principals: () => new Principals(),
  archives: () => new Archives(),
  repeats: () => new Repeats(),
  texts: () => new Texts(),
};

export interface AttackOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly names: readonly string[];
  readonly endings: readonly Ending[];
  readonly lifetimeMsMin: number;
  readonly lifetimeMsMax: number;
  /** What stands beside the chunks of text indexes goes into them all the time (`low-bounds.ts`). */
  readonly folds: boolean;
  readonly report: (line: string) => void;
}

export interface AttackOutcome {
  readonly rounds: number;
  readonly violations: readonly string[];
  readonly remarks: ReadonlyMap<string, number>;
}

/** Loads a server in many ways at once, ends it in the middle, starts it again and compares. Stops at the first violation. */
export async function runAttack(options: AttackOptions): Promise<AttackOutcome> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-attack-'));
  const foldNotesPath = join(rootPath, 'fold-notes');
  const random = mulberry32(options.seed);
  const remarks = new Map<string, number>();
  const violations: string[] = [];
  const failures = new Failures();
  const start = () =>
    startServer({
      rootPath,
      rootPassword: password,
      environment: { ...quickStart, FOLD_NOTES: options.folds ? foldNotesPath : '' },
      ...(options.folds && { nodeArguments: ['--import', lowBounds] }),
      readyTimeoutMs: 60_000,
    });
  let server = await start();
  const attackOn = () =>
    new Attack({ port: server.port, rootPath, password, random, remarks, failures });
  const chosen = options.names
    .map((name) => scenarios[name]?.())
    .filter((one) => one !== undefined);
  let rounds = 0;
  try {
    for (const scenario of chosen) await scenario.prepare(attackOn());
    while (rounds < options.rounds && violations.length === 0) {
      const ending = options.endings[rounds % options.endings.length] ?? 'kill';
      const attack = attackOn();
      const loads = Promise.all(chosen.map((scenario) => scenario.load(attack)));
      const span = options.lifetimeMsMax - options.lifetimeMsMin;
      await new Promise((done) => setTimeout(done, options.lifetimeMsMin + random() * span));
      const code = await end(server, ending, random);
      attack.end();
      await loads;
      if (ending === 'stop' && code !== 0)
        violations.push(`SIGTERM ended with ${code}: ${server.output().slice(-1500)}`);
      server = await start();
      for (const scenario of chosen) {
        const found = await violationsOf(scenario, attackOn());
        violations.push(...found.map((text) => `${scenario.name} (${ending}): ${text}`));
      }
      violations.push(...failures.take().map((text) => `(${ending}) ${text}`));
      rounds += 1;
      options.report(`round ${rounds} ${ending}: ${violations.length} violations`);
    }
    if (options.folds)
      for (const [text, count] of foldCounts(foldNotesPath)) {
        options.report(`${count} ${text}`);
        if (count === 0 && rounds >= roundsForAll) violations.push(`there were no ${text}`);
      }
  } finally {
    await server.kill();
    if (violations.length === 0) rmSync(rootPath, { recursive: true, force: true });
    else options.report(`left for a look: ${rootPath}\n${server.output().slice(-3000)}`);
  }
  return { rounds, violations, remarks };
}

/** A comparison that the server refuses to answer has failed, too. */
async function violationsOf(scenario: Scenario, attack: Attack): Promise<readonly string[]> {
  try {
    return await scenario.verify(attack);
  } catch (error) {
    if (error instanceof RefusedRequest) return [error.message];
    throw error;
  }
}

async function end(
  server: ServerProcess,
  ending: Ending,
  random: () => number,
): Promise<number | null> {
  if (ending === 'kill') {
    await server.kill();
    return null;
  }
  const stopped = server.stop();
  if (ending === 'stop') return stopped;
  await Promise.race([stopped, new Promise((done) => setTimeout(done, 50 + random() * 950))]);
  await server.kill();
  return null;
}
