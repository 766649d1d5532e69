import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import { type Envelope, encodeEnvelope } from '#cluster/transport/envelope.ts';
import { adminService, raftService } from '#cluster/transport/services.ts';
import { messageOf } from '#raft/message.ts';
import { until, WorkerGroup } from './worker-group.ts';

// Whatever comes on the Raft port, the group stays as it is: no election, no change of state, writes go on (issue: bad input).

const raw = (bytes: Buffer) => bytes;

/** Resolves with the status that ended the stream; a message that was taken ends it with 0. */
function sendOn(port: number, path: string, bytes: Buffer): Promise<number> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_send_message_length': -1,
  });
  const stream = client.makeBidiStreamRequest(path, raw, raw);
  return new Promise((resolve) => {
    stream.on('data', () => {});
    stream.on('error', () => {});
    stream.on('status', ({ code }) => {
      client.close();
      resolve(code);
    });
    stream.write(bytes);
    stream.end();
  });
}

function askOn(port: number, path: string, body: string): Promise<number> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, raw, raw, Buffer.from(body), (error) => {
      client.close();
      resolve(error?.code ?? 0);
    });
  });
}

/** Bytes that are no HTTP/2 at all, or stop in the middle of it. */
function scribble(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes));
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.resume();
  });
}

/** What stands in the log once is there on every member, for ever: nothing of these may get there. */
async function refusesChanges(group: WorkerGroup, leader: number): Promise<void> {
  const status = () => group.members.get(leader)?.consensus.status() ?? assert.fail();
  const before = JSON.stringify(status().configuration);
  const { storageId: storage, clusterId, configuration } = status();
  const from = { clusterName: 'test', clusterId, peer: group.idOf(leader), storage };
  const { storageId: _, ...newcomer } = configuration.voters[0] ?? assert.fail();
  const member = { ...newcomer, id: 'x_9', address: 'x:9', storageId: 's-x' };
  const remove = { kind: 'remove', id: group.idOf((leader + 1) % 3), force: true };
  const add = { kind: 'add', member };
  const cases: Record<string, object> = {
    'no sender': { change: remove, from: undefined },
    'a sender of another cluster': { change: remove, from: { ...from, clusterId: 'other' } },
    'a sender without a cluster': { change: remove, from: { ...from, clusterId: undefined } },
    'a sender of another name': { change: remove, from: { ...from, clusterName: 'other' } },
    'a stranger': { change: remove, from: { ...from, peer: 'x_9', storage: 's-x' } },
    'a stranger for another one': { change: add, from: { ...from, peer: 'y_9', storage: 's-y' } },
    'another disk of a member': { change: remove, from: { ...from, storage: 's-x' } },
    'a member without anything': { change: { kind: 'add', member: {} } },
    'a member that is a number': { change: { kind: 'add', member: 5 } },
    'an id that is not that of the address': {
      change: { ...add, member: { ...member, id: 'y_9' } },
    },
    'an id that is a number': { change: { ...add, member: { ...member, id: 9 } } },
    'a priority that is a text': { change: { ...add, member: { ...member, priority: 'high' } } },
    'a priority without end': { change: { ...add, member: { ...member, priority: 1e300 } } },
    'a port that is none': { change: { ...add, member: { ...member, http: 70_000 } } },
    'a name without end': { change: { ...add, member: { ...member, name: 'n'.repeat(1000) } } },
    'a disk that is a list': { change: { ...add, member: { ...member, storageId: [] } } },
    'a replacement by nothing': { change: { kind: 'replace' } },
    'promotion of nobody': { change: { kind: 'promote', ids: [] } },
    'promotion of numbers': { change: { kind: 'promote', ids: [1] } },
    'a removal of everybody': { change: { kind: 'remove', id: null, force: true } },
    'a removal without force': { change: { ...remove, force: undefined } },
    'another change': { change: { kind: 'leave' } },
    'a time without end': { change: add, timeoutMs: -1 },
    'features that are a text': {
      change: add,
      from: { ...from, peer: 'x_9', storage: 's-x', build: { version: '1', features: 'all' } },
    },
    'features of an asker that are numbers': {
      change: add,
      asker: { build: { version: '1', features: [1] } },
    },
    'a build that is a text': {
      change: add,
      from: { ...from, peer: 'x_9', storage: 's-x', build: '1' },
    },
    'an asker that is a list': { change: add, asker: [] },
    'a build without a version': { change: add, asker: { build: { features: [] } } },
    'a text for a flag': { change: add, isPassedOn: 'yes' },
  };
  for (const place of [0, 1, 2])
    for (const [name, given] of Object.entries(cases)) {
      const body = JSON.stringify({ timeoutMs: 500, isPassedOn: place === leader, from, ...given });
      const { path } = adminService.ChangeMembership;
      assert.notEqual(await askOn(group.ports[place] as number, path, body), 0, name);
    }
  assert.equal(JSON.stringify(status().configuration), before);
}

test('bad input on the port is refused and changes nothing', async () => {
  const group = await WorkerGroup.start(3);
  try {
    const leader = await group.leader();
    await group.write('before');
    await until(() =>
      [...group.members.values()].every(({ applied }) => applied.length === 1) ? true : undefined,
    );
    const victim = (leader + 1) % 3;
    const port = group.ports[victim] as number;
    const status = () => group.members.get(victim)?.consensus.status();
    const storageOf = (i: number) => group.members.get(i)?.consensus.status().storageId ?? '';
    const { term, clusterId = '', electionCount } = status() ?? assert.fail();
    const good = {
      clusterId,
      clusterName: 'test',
      fromPeer: group.idOf((leader + 2) % 3),
      fromStorage: storageOf((leader + 2) % 3),
      toPeer: group.idOf(victim),
      toStorage: storageOf(victim),
    };
    const vote = (given: Partial<Envelope>): Buffer =>
      encodeEnvelope(
        { ...good, ...given },
        given.messages ?? [
          messageOf('Vote', '', '', { term: 1000, index: 1000, logTerm: 1000, transfer: true }),
        ],
      );
    const entry = { index: 9, term: 1000, kind: 'normal', data: Buffer.from('x') } as const;
    const append = { term: 1000, index: 3, logTerm: 1, entries: [entry] };
    const hostile: Record<string, Buffer> = {
      'random bytes': randomBytes(500),
      'a cut envelope': vote({}).subarray(0, 60),
      'another cluster': vote({ clusterId: '00000000-0000-4000-8000-000000000000' }),
      'no cluster id': vote({ clusterId: '' }),
      'another name': vote({ clusterName: 'other' }),
      'a stranger': vote({ fromPeer: '127.0.0.1_1' }),
      'the member itself': vote({ fromPeer: good.toPeer }),
      'another addressee': vote({ toPeer: good.fromPeer }),
      'another storage here': vote({ toStorage: 'x' }),
      'an answer of another storage': vote({
        fromStorage: 'x',
        messages: [messageOf('AppendResp', '', '', { term: 1000 })],
      }),
      'a gap between entries': vote({ messages: [messageOf('Append', '', '', append)] }),
      'a snapshot without content': vote({
        messages: [messageOf('Snapshot', '', '', { term: 1000 })],
      }),
      'an oversized message': Buffer.alloc(17 * 1024 * 1024, 10),
    };
    for (const [name, bytes] of Object.entries(hostile))
      for (const { path } of [raftService.Control, raftService.Bulk])
        assert.notEqual(await sendOn(port, path, bytes), 0, name);
    const calls = [raftService.Hello, adminService.ChangeMembership, adminService.GroupInfo];
    for (const { path } of calls)
      for (const body of ['', '{', 'null', '[]', '{"change":{"kind":"remove"}}'])
        await askOn(port, path, body);
    await refusesChanges(group, leader);
    const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    for (const bytes of [
      randomBytes(5000),
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      preface.subarray(0, 10),
      Buffer.concat([preface, randomBytes(200)]),
    ])
      await scribble(port, bytes);
    await group.write('after');
    await until(() => (group.members.get(victim)?.applied.length === 2 ? true : undefined));
    assert.equal(status()?.term, term);
    assert.equal(status()?.electionCount, electionCount);
    assert.equal(status()?.configuration.voters.length, 3);
    assert.equal(status()?.raftState, 'RUNNING');
  } finally {
    await group.close();
  }
});
