import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowlistOf } from '#cluster/consensus/allowed-hosts.ts';
import type { ConsensusOptions } from '#cluster/consensus/worker-messages.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { ConfState, Member } from '#raft/vocabulary.ts';

const memberOf = (host: string): Member => ({
  id: `${host}_2434`,
  address: `${host}:2434`,
  priority: 0,
  canLead: true,
  storageId: host,
  voter: true,
});
const gone = (host: string) => ({ id: `${host}_2434`, storageId: host, atMs: 1 });

test('declared hosts and those of members may connect, the host of a removed member not, also where it is declared', async () => {
  const hosts = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
  const conf: ConfState = {
    voters: [memberOf('10.0.0.1'), memberOf('10.0.0.4')],
    votersOutgoing: [],
    learners: [],
    learnersNext: [],
    autoLeave: false,
    removed: [gone('10.0.0.3'), gone('10.0.0.4')],
  };
  const options = {
    declared: hosts.map(memberOf),
    allowlist: { refreshMs: 30_000, graceMs: 0, stickyMs: 0 },
  } as unknown as ConsensusOptions;
  const list = allowlistOf(options, { runtime: systemRuntime, conf: () => conf, warn: () => {} });
  const admitted: string[] = [];
  for (const host of [...hosts, '10.0.0.4', '10.0.0.5'])
    if (await list?.admits(host)) admitted.push(host);
  assert.deepEqual(admitted, ['10.0.0.1', '10.0.0.2', '10.0.0.4']);
});
