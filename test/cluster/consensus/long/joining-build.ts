import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import { Admission } from '#cluster/consensus/admission.ts';
import type { MembershipChanged } from '#cluster/consensus-port.ts';
import type { Build } from '#cluster/features.ts';
import { adminService } from '#cluster/transport/services.ts';
import { freePort, until, WorkerGroup } from '../worker-group.ts';

// Who asks by itself to be taken in, and lacks what the cluster uses (ha.md 16 rule 2).

const newer: Build = { version: '2', features: ['greeting'] };
const older: Build = { version: '1', features: [] };
const raw = (bytes: Buffer) => bytes;

function ask(port: number, request: object): Promise<MembershipChanged> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { path } = adminService.ChangeMembership;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, raw, raw, Buffer.from(JSON.stringify(request)), (error, body) => {
      client.close();
      if (error !== null || body === undefined) reject(error);
      else resolve(JSON.parse(body.toString()) as MembershipChanged);
    });
  });
}

test('a server that joins by itself is refused by name while its build lacks a feature in use, whichever member it asks', async () => {
  const group = await WorkerGroup.start(0);
  try {
    for (let i = 0; i < 3; i++) group.ports.push(await freePort());
    for (const i of [0, 1]) await group.startMember(i, 2, { build: newer });
    const leader = await group.leader();
    const leading = group.members.get(leader) ?? assert.fail();
    for (const { consensus } of group.members.values()) consensus.useFeatures(['greeting']);
    await group.write('greetings are used');
    const conf = () => leading.consensus.status().configuration;
    const before = JSON.stringify(conf());

    const { clusterId } = leading.consensus.status();
    const id = group.idOf(2);
    const address = `127.0.0.1:${group.ports[2]}`;
    const member = { id, address, priority: 0, canLead: true, storageId: 's', voter: true };
    const from = { clusterName: 'test', clusterId, peer: id, storage: 's' };
    const lack = (build: string) =>
      `Peer ${id} runs ${build}, which lacks 'greeting'; the cluster uses it: upgrade the peer first`;
    for (const place of [0, 1])
      for (const [build, text] of [
        [older, 'version 1'],
        [undefined, 'an older version'],
      ] as const) {
        const answer = await ask(group.ports[place] as number, {
          change: { kind: 'add', member },
          timeoutMs: 5000,
          isPassedOn: false,
          from: { ...from, build },
        });
        const refused = { kind: 'refused', reason: 'lacks-feature', detail: lack(text) };
        assert.deepEqual(
          answer,
          refused,
          `asked ${place === leader ? 'the leader' : 'a follower'}`,
        );
      }

    const late = await group.startMember(2, 3, { build: older, startMode: 'join' });
    await until(() => (late.errors.length > 0 ? true : undefined));
    assert.deepEqual(late.errors, [`This server is not taken in: ${lack('version 1')}`]);
    assert.ok(leading.errors.includes(lack('version 1')));
    assert.equal(JSON.stringify(conf()), before);

    await group.stopMember(2);
    await group.startMember(2, 3, { build: newer, startMode: 'join' });
    await until(() => (conf().voters.some((voter) => voter.id === id) ? true : undefined));
  } finally {
    await group.close();
  }
});

test('it asks on and tells the same refusal once', async () => {
  const told: string[] = [];
  const asked: string[] = [];
  const answers = ['old', 'old', 'older', 'older'];
  let place = 0;
  const admission = new Admission({
    timers: { sleep: async () => {} },
    joinsByItself: true,
    isRunning: () => true,
    isAdmitted: () => false,
    hasLeader: () => true,
    admitIfNamed: async () => place === answers.length,
    change: (kind, voter) => ({ kind, member: { id: 'd', voter } }) as never,
    others: () => ['a'],
    ask: async (id, { kind }) => {
      asked.push(`${kind} ${id}`);
      return { kind: 'refused', reason: 'lacks-feature', detail: answers[place++] ?? '' };
    },
    report: (text) => void told.push(text),
  });
  await admission.seek();
  assert.equal(asked.length, answers.length);
  assert.deepEqual(told, [
    'This server is not taken in: old',
    'This server is not taken in: older',
  ]);
});
