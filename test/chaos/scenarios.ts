import { spawn } from 'node:child_process';
import { join } from 'node:path';

/*
 * The scenarios of ha-testing.md 10 and the tests that show them. `npm run chaos -- --scenarios` runs those that stand here with a
 * file; what is open is named in its last lines. `test/chaos/scenarios.test.ts` looks that each id and each test is there.
 */

/** A file below `test` and the beginning of the title of a test in it. */
export interface Shown {
  readonly file: string;
  readonly title: string;
}

const shown =
  (file: string) =>
  (title: string): Shown => ({ file, title });
const life = shown('cluster/processes/life-of-a-cluster.ts');
const members = shown('cluster/processes/membership.ts');
const hostile = shown('cluster/processes/hostile.ts');
const tls = shown('cluster/processes/tls.ts');
const links = shown('chaos/scenarios/links.ts');
const restarts = shown('chaos/scenarios/restarts.ts');
const away = shown('chaos/scenarios/away.ts');
const loads = shown('chaos/scenarios/loads.ts');
const builds = shown('chaos/scenarios/builds.ts');
const soak = shown('chaos/scenarios/soak.ts');
const databases = shown('chaos/scenarios/snapshots.ts');
const desk = shown('cluster/consensus/membership-desk.test.ts');
const snapshots = shown('cluster/snapshot/long/snapshots.ts');
const staging = shown('cluster/staging/staging.test.ts');
const forwarding = shown('cluster/doors/forwarding.test.ts');
const management = shown('cluster/doors/management.test.ts');
const monitor = shown('cluster/consensus/channel-monitor.test.ts');
const bootstrap = shown('cluster/bootstrap/bootstrap.test.ts');
const catalog = shown('cluster/catalog/server-catalog.test.ts');
const whole = shown('cluster/replication/whole-quorum.test.ts');

/** Scenarios without a test yet, and what is missing. */
export const open: Readonly<Record<string, string>> = {};

/** By id. */
export const scenarios: Readonly<Record<string, readonly Shown[]>> = {
  F1: [life('a killed leader loses nothing')],
  F2: [links('F2')],
  F3: [links('F3'), members('a leader that is cut off steps down')],
  F4: [links('F4, F5')],
  F5: [links('F4, F5')],
  F6: [links('F6, F7')],
  F7: [links('F6, F7')],
  F8: [restarts('F8')],
  F9: [restarts('F9')],
  R1: [members('all are restarted one after the other under load')],
  R2: [away('R2')],
  U1: [
    builds('U1'),
    shown('cluster/parts/features.test.ts')('a member that meets an entry of another build'),
  ],
  M1: [restarts('M1')],
  M2: [
    hostile('forged, repeated and empty'),
    shown('cluster/doors/long/hostile-management.ts')('wrong and unsafe management calls'),
  ],
  M3: [restarts('M1'), desk('a removal that would cost the quorum is refused')],
  M4: [hostile('forged, repeated and empty'), desk('a change for another configuration')],
  M5: [shown('cluster/consensus/worker-consensus.test.ts')('a lost disk comes back')],
  M6: [hostile('a removed server is cut off')],
  M7: [shown('cluster/consensus/hostile-port.test.ts')('bad input on the port')],
  S1: [databases('S1')],
  S2: [
    snapshots('an archive that breaks off leaves what was there'),
    shown('cluster/snapshot/long/killed-installs.ts')('S2: killed at each step'),
    staging('a start keeps what the log knows and is whole'),
    catalog('a publication that a crash broke off'),
  ],
  S3: [databases('S3')],
  S4: [databases('S4')],
  S5: [
    snapshots('a hostile archive leaves what was there'),
    snapshots('hostile parts leave what was there'),
  ],
  S6: [shown('cluster/replication/breaks.test.ts')('a server that was down catches up')],
  S7: [databases('S7'), snapshots('without room nothing is fetched')],
  B1: [shown('cluster/processes/bootstrap.ts')('equal copies become one database')],
  B2: [
    shown('cluster/processes/bootstrap.ts')('equal copies become one database'),
    bootstrap('equal copies stay, older and differing ones'),
    catalog('a server with a newer copy refuses to serve'),
  ],
  B3: [bootstrap('a majority is enough in the end')],
  B4: [
    bootstrap('everybody is asked until it answers'),
    shown('cluster/consensus/formation.test.ts')('one group at most'),
  ],
  B5: [catalog('a cluster begins with the databases of its source')],
  D1: [shown('cluster/consensus/long/full-disk.ts')('a member whose disk is full')],
  D2: [shown('cluster/replication/compaction.test.ts')('a full volume of the databases pauses')],
  D3: [shown('cluster/log-store/log-health.test.ts')('a slow disk is told of')],
  C1: [shown('cluster/replication/transactions.test.ts')('a refused batch is rolled back')],
  C2: [shown('cluster/replication/breaks.test.ts')('1: a transaction that was begun under')],
  C3: [loads('C3')],
  H1: [
    life('three servers form'),
    forwarding('a write at a follower is executed by the leader'),
    shown('cluster/processes/access.ts')('a follower admits and refuses everybody'),
  ],
  H2: [life('three servers form'), forwarding('a change of leader ends sessions')],
  H3: [forwarding('without a leader a write is 503')],
  H4: [hostile('forged, repeated and empty'), forwarding('forged internal headers')],
  H6: [loads('H6')],
  H5: [forwarding('a leader that breaks off leaves the outcome unknown'), restarts('F9')],
  T1: [
    tls('a server whose files cannot serve'),
    shown('cluster/consensus/raft-tls.test.ts')('files that cannot serve are refused'),
  ],
  T2: [shown('cluster/consensus/peer-allowlist.test.ts')('the grace ends')],
  T3: [forwarding('forged internal headers')],
  K1: [
    monitor('five resets a minute apart'),
    monitor('what is not escalated says why'),
    monitor('a failed attempt consumes no cooldown'),
    shown('cluster/consensus/leader-watch.test.ts')('five resets, an escalation'),
  ],
  K2: [
    shown('cluster/parts/replica-monitor.test.ts')('a follower that never got an append'),
    shown('cluster/parts/stalled-replicas.test.ts')('a follower that stands still for long'),
  ],
  V1: [
    members('verify compares what the members hold'),
    shown('chaos/scenarios/damage.ts')('V1'),
    shown('cluster/verify/divergence.test.ts')('equal copies stay; one that holds something else'),
  ],
  V2: [
    shown('cluster/verify/divergence.test.ts')('equal copies stay; one that holds something else'),
  ],
  Q1: [
    whole('while a voter is away nothing is appended'),
    whole('the answer waits for the last voter'),
  ],
  P1: [management('presence asks every server')],
  X1: [soak('X1')],
  L1: [monitor('commits that wait for the main thread')],
};

const folder = join(import.meta.dirname, '..');

/** Runs the tests of the named scenarios, or of all. @returns whether all passed */
export async function runScenarios(ids: readonly string[]): Promise<boolean> {
  const chosen = ids.length > 0 ? ids : Object.keys(scenarios);
  const byFile = new Map<string, Set<string>>();
  for (const id of chosen) {
    const tests = scenarios[id];
    if (tests === undefined) throw new Error(`no test shows '${id}': ${open[id] ?? 'unknown id'}`);
    for (const { file, title } of tests)
      byFile.set(file, (byFile.get(file) ?? new Set()).add(title));
  }
  let failed = 0;
  for (const [file, titles] of byFile) {
    const status = await runTests(file, [...titles]);
    if (status !== 0) failed += 1;
    const who = chosen.filter((id) => scenarios[id]?.some((one) => one.file === file));
    console.log(`${status === 0 ? 'ok' : 'FAILED'} ${who.join(' ')}: ${file}`);
  }
  const isAll = ids.length === 0;
  if (isAll) for (const [id, what] of Object.entries(open)) console.log(`open ${id}: ${what}`);
  const skipped = isAll ? Object.keys(open).length : 0;
  console.log(`scenarios: ${byFile.size - failed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0;
}

function runTests(file: string, titles: readonly string[]): Promise<number> {
  const patterns = titles.map((title) => `--test-name-pattern=^${title}`);
  const line = ['--test', '--test-isolation=none', '--test-timeout=900000', ...patterns];
  const child = spawn(process.execPath, [...line, join(folder, file)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
