import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterDatabase, ClusterView } from '#cluster/cluster-view.ts';
import type { ConsensusStatus } from '#cluster/consensus-port.ts';
import { Readiness } from '#cluster/status/readiness.ts';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';

// Why GET /ready is 503 on a member, by what is wrong (contract 3; ha.md 11.5).

interface Seen {
  readonly status?: Partial<ConsensusStatus>;
  readonly databases?: readonly ClusterDatabase[];
  readonly applied?: number;
  readonly lacksRoom?: boolean;
  readonly refusal?: string;
  readonly entering?: string;
}

const own = {
  id: 'a',
  storageId: 's',
  voter: true,
} as ConsensusStatus['configuration']['voters'][0];
const inOrder = {
  raftState: 'RUNNING',
  logState: 'OK',
  admitted: true,
  role: 'follower',
  leader: 'b',
  leaderReady: false,
  commitIndex: 500,
  configuration: {
    voters: [own],
    votersOutgoing: [],
    learners: [],
    learnersNext: [],
    autoLeave: false,
  },
} as unknown as ConsensusStatus;

function readiness(seen: Seen, texts: Record<string, string> = {}): Readiness {
  const view = {
    consensus: { self: 'a', status: () => ({ ...inOrder, ...seen.status }) },
    appliedIndex: () => seen.applied ?? 500,
    databases: () => seen.databases ?? [],
    lacksRoom: () => seen.lacksRoom ?? false,
    bootstrapRefusal: () => seen.refusal,
    entering: () => seen.entering,
  } as unknown as ClusterView;
  const all = { 'server.readinessRequiresHA': 'true', ...texts };
  return new Readiness(view, new Settings(new Map(Object.entries(all))), silentLog);
}

const installing = { name: 'x', status: 'INSTALLING' } as const;
const reasons: readonly (readonly [RegExp, Seen])[] = [
  [/no leader is known/, { status: { leader: undefined } }],
  [/not admitted/, { status: { admitted: false } }],
  [
    /not in the configuration/,
    { status: { configuration: { ...inOrder.configuration, voters: [] } } },
  ],
  [/newer than what the cluster began with/, { refusal: 'newer than what the cluster began with' }],
  [/not entered group one/, { entering: 'it has not entered group one yet' }],
  [/not applied any more/, { status: { raftState: 'EXCEPTION' } }],
  [/'x' is being installed/, { databases: [{ ...installing, acquireStatus: 'ACQUIRING' }] }],
  [/volume of the databases is full/, { lacksRoom: true }],
  [/101 entries behind \(100 allowed\)/, { applied: 399 }],
  [/leads, but not yet/, { status: { role: 'leader', leader: 'a' } }],
  [/Raft log has failed/, { status: { logState: 'FAILED' } }],
  [/Raft log has failed/, { status: { logState: 'GAVE_UP' } }],
];

test('a member is ready when it leads or follows closely', () => {
  assert.equal(readiness({}).reason(), undefined);
  assert.equal(readiness({ applied: 400 }).reason(), undefined);
  const leads = { role: 'leader', leader: 'a', leaderReady: true } as const;
  assert.equal(readiness({ status: leads, applied: 1 }).reason(), undefined);
});

test('what keeps a member from being ready is told by name', () => {
  for (const [reason, seen] of reasons) assert.match(readiness(seen).reason() ?? '', reason);
});

test('a database that could not be fetched keeps the others away from nobody', () => {
  const failed = [{ ...installing, acquireStatus: 'FAILED' }] as const;
  assert.equal(readiness({ databases: failed }).reason(), undefined);
});

test('settings: how far behind is ready, and whether the cluster counts at all', () => {
  const behind = { applied: 300 };
  assert.equal(readiness(behind, { 'server.readinessHAMaxLag': '200' }).reason(), undefined);
  const alone = { 'server.readinessRequiresHA': 'false' };
  for (const [, seen] of reasons)
    assert.equal(readiness(seen, alone).reason(), seen.refusal, 'what it must not serve');
});
