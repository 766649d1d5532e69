import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterView } from '#cluster/cluster-view.ts';
import { type Dial, PeerAddresses } from '#cluster/forwarding/peer-addresses.ts';
import { PeerFailure, type PeerHttp } from '#cluster/forwarding/peer-http.ts';
import { CapabilityPoll } from '#cluster/status/capabilities.ts';
import { ClusterToken } from '#cluster/token/cluster-token.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

type Answer = { readonly status: number; readonly body: string } | Error;

/** Why the leader does not know what the build of a server understands (contract 3, Cluster status). */
async function reasonFor(answer: Answer, dial?: Dial): Promise<unknown> {
  const view = {
    declared: [],
    consensus: { self: 'a_1', status: () => ({ configuration: { voters: [], learners: [] } }) },
  } as unknown as ClusterView;
  const askWhole: PeerHttp['askWhole'] = async () => {
    if (answer instanceof Error) throw answer;
    return { status: answer.status, body: Buffer.from(answer.body) };
  };
  const poll = new CapabilityPoll({
    view,
    addresses: new PeerAddresses(view, {
      ownPorts: () => ({ http: 1, https: undefined }),
      log: silentLog,
    }),
    http: { askWhole } as PeerHttp,
    token: new ClusterToken(['t']),
    timers: systemRuntime.timers,
    settings: {},
    log: silentLog,
  });
  const there = { kind: 'address', peer: 'b_1', host: 'b', port: 2, isSecure: false } as const;
  return poll.ask('b_1', dial ?? there);
}

test('who is not reached, is an older build or is not the one that was asked is told apart', async () => {
  const told = { peerId: 'b_1', version: '1', capabilities: [] };
  const other = JSON.stringify({ ...told, peerId: 'c_1' });
  assert.deepEqual(await reasonFor({ status: 200, body: JSON.stringify(told) }), told);
  assert.equal(await reasonFor(new PeerFailure('connection refused', true)), 'unreachable');
  assert.equal(await reasonFor({ status: 500, body: '' }), 'unreachable');
  assert.equal(await reasonFor({ status: 200, body: '<html>' }), 'unreachable');
  for (const status of [404, 405])
    assert.equal(await reasonFor({ status, body: '' }), 'older-build', String(status));
  assert.equal(await reasonFor({ status: 200, body: other }), 'not-identified');
  const misdirected = new PeerFailure("b:2 is not server 'b_1'", true, { isMisdirected: true });
  assert.equal(await reasonFor(misdirected), 'not-identified');
  const refused = { kind: 'refused', reason: 'shared' } as const;
  assert.equal(await reasonFor({ status: 200, body: other }, refused), 'not-identified');
});
