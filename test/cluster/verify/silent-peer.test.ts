import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PeerFailure, type PeerRequest } from '#cluster/forwarding/peer-http.ts';
import { ClusterVerify } from '#cluster/management/verify.ts';
import { ClusterToken } from '#cluster/token/cluster-token.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';

// A leader 'a' that compares with 'b', which answers, and 'c', whose process takes connections and says nothing.

test('a member that does not answer costs a comparison the time to accept it, not the time to digest', async () => {
  const asked: { to: string; path: string; firstByteMs: number | undefined }[] = [];
  const files = [{ name: 'Person_0.bucket', type: 'bucket', checksum: 'f'.repeat(64), size: 1 }];
  const verify = new ClusterVerify({
    view: {
      serverName: 'A',
      consensus: { self: 'a', status: () => ({ role: 'leader', leader: 'a' }) },
      verifier: {
        mark: async () => ({ verifyId: 'v', index: 7 }),
        result: () => ({ index: 7, files }),
      },
    } as never,
    addresses: {
      known: () => ['a', 'b', 'c'].map((id) => ({ id, member: { id } })),
      addresses: () => new Map([['c', 'c:2480']]),
      dial: (host: PeerId) => ({ kind: 'address', host, port: 2480, isSecure: false }),
    } as never,
    http: {
      askWhole: async ({ host }: { host: string }, { path, firstByteMs }: PeerRequest) => {
        asked.push({ to: host, path, firstByteMs });
        if (host === 'c') throw new PeerFailure('c:2480 did not answer in time', false);
        const part = { localServer: 'B', index: 7, files };
        return { status: 200, body: Buffer.from(JSON.stringify(part)) };
      },
    } as never,
    token: new ClusterToken(['a-token-of-this-cluster']),
    resync: undefined as never,
    runtime: systemRuntime,
  });

  const { peers, overallStatus } = await verify.compare('school');
  assert.equal(overallStatus, 'VERIFICATION_INCOMPLETE');
  assert.deepEqual(
    (peers as { peerId: string; status: string; error?: string }[]).map(
      ({ peerId, status, error }) => [peerId, status, error],
    ),
    [
      ['b', 'CONSISTENT', undefined],
      ['c', 'ERROR', 'c:2480 did not answer in time'],
    ],
  );
  const [waited, ...more] = asked.filter(({ to }) => to === 'c');
  assert.deepEqual([waited?.firstByteMs, more], [5000, []]);
  assert.deepEqual(
    asked.filter(({ to }) => to === 'b').map(({ firstByteMs }) => firstByteMs),
    [5000, 60_000],
  );
});
