import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterToken, type ScriptedCluster, startCluster } from '../support/scripted-cluster.ts';
import { formats } from '#cluster/features.ts';
import { PeerAddresses } from '#cluster/forwarding/peer-addresses.ts';
import { PeerHttp } from '#cluster/forwarding/peer-http.ts';
import { CapabilityPoll } from '#cluster/status/capabilities.ts';
import { Readiness } from '#cluster/status/readiness.ts';
import { ClusterToken } from '#cluster/token/cluster-token.ts';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { handOverStep } from '../../../server/plan/cluster-door.ts';
import { startDoor } from '../../http/door-fixture.ts';

// The endpoints of people and of servers (ha.md 11) over a scripted consensus.

const statusPaths = [
  ['GET', 'cluster'],
  ['POST', 'cluster/peer'],
  ['DELETE', 'cluster/peer/x_1'],
  ['POST', 'cluster/peer/x_1/promote'],
  ['POST', 'cluster/leader'],
  ['POST', 'cluster/stepdown'],
  ['POST', 'cluster/leave'],
  ['POST', 'cluster/prepare-stop'],
  ['POST', 'cluster/resync/school'],
  ['POST', 'cluster/verify/school'],
] as const;

test('cluster endpoints are for root, and 400 without replication', async (context) => {
  const cluster = await startCluster(context, 1);
  const alone = await startDoor(context);
  for (const [method, path] of statusPaths) {
    const asked = { headers: { 'content-type': 'application/json' } };
    assert.equal((await cluster.door(0).ask(method, path, { ...asked, user: 'jay' })).status, 403);
    assert.equal((await cluster.door(0).ask(method, path, { ...asked, user: null })).status, 401);
    const off = await alone.ask(method, path, asked);
    assert.deepEqual([off.status, off.body['error']], [400, 'Raft HA is not enabled'], path);
    cluster.server(0).raftState = 'STARTING';
    const early = await cluster.door(0).ask(method, path, asked);
    assert.deepEqual([early.status, early.body['error']], [503, 'Raft HA not started yet'], path);
    cluster.server(0).raftState = 'RUNNING';
  }
});

test('GET /cluster tells leader, members and alerts', async (context) => {
  const cluster = await startCluster(context);
  const [first, second, third] = cluster.servers.map(({ id }) => id) as [string, string, string];
  cluster.server(0).progress = [
    {
      id: second,
      match: 5,
      next: 6,
      state: 'replicate',
      lastContactMs: 12,
      isReachable: true,
      roundTripMs: 1,
    },
    {
      id: third,
      match: 0,
      next: 1,
      state: 'probe',
      lastContactMs: undefined,
      isReachable: false,
      roundTripMs: undefined,
    },
  ];
  const { body } = await cluster.door(0).ask('GET', 'cluster');
  assert.equal(body['implementation'], 'raft');
  assert.equal(body['localPeerId'], first);
  assert.equal(body['leaderHttpAddress'], `127.0.0.1:${cluster.door(0).port}`);
  assert.deepEqual(
    [body['isLeader'], body['currentTerm'], body['commitIndex'], body['appliedIndex']],
    [true, 2, 5, 5],
  );
  assert.equal(body['storageId'], `s-${first}`, 'of the disk of the server that answers');
  cluster.server(0).applied = 6;
  const ahead = (await cluster.door(0).ask('GET', 'cluster')).body;
  assert.deepEqual(
    [ahead['commitIndex'], ahead['appliedIndex']],
    [6, 6],
    'what is applied is committed',
  );
  const peers = body['peers'] as Record<string, unknown>[];
  assert.deepEqual(
    peers.map(({ storageId }) => storageId),
    cluster.members.map(({ storageId }) => storageId),
  );
  assert.deepEqual(
    peers.map(({ id, role, local }) => [id, role, local]),
    [
      [first, 'LEADER', true],
      [second, 'FOLLOWER', undefined],
      [third, 'FOLLOWER', undefined],
    ],
  );
  assert.deepEqual([peers[1]?.['matchIndex'], peers[1]?.['replicationLag']], [5, 0]);
  assert.deepEqual(
    [peers[2]?.['matchIndex'], peers[2]?.['lastContactMs'], peers[2]?.['reachable']],
    [-1, -1, false],
  );
  const ofFollower = (await cluster.door(1).ask('GET', 'cluster')).body;
  const seen = (ofFollower['peers'] as Record<string, unknown>[])[2];
  assert.equal(seen?.['matchIndex'], undefined, 'a follower leaves out what it does not know');
  assert.equal(seen?.['capabilitiesUnknownReason'], undefined);
});

test('declared servers outside of the configuration, and members outside of the list', async (context) => {
  const cluster = await startCluster(context);
  const third = cluster.members.pop();
  const alertsAt = async (place: number) =>
    (
      (await cluster.door(place).ask('GET', 'cluster')).body['alerts'] as Record<string, unknown>[]
    ).map(({ id, severity }) => `${id} ${severity}`);
  assert.ok((await alertsAt(0)).includes('peers-not-in-configuration warning'));
  assert.ok((await alertsAt(2)).includes('peers-not-in-configuration critical'));
  assert.ok((await alertsAt(0)).includes('even-voter-count info'));
  const { body } = await cluster.door(0).ask('GET', 'cluster');
  const missing = (body['peers'] as Record<string, unknown>[]).find(({ id }) => id === third?.id);
  assert.deepEqual(
    [missing?.['role'], missing?.['inConfiguration']],
    ['NOT_IN_CONFIGURATION', false],
  );
  if (third) cluster.members.push({ ...third, id: 'new_7009', address: 'new:7009' });
  assert.ok((await alertsAt(0)).includes('peers-not-in-server-list info'));
});

test('shared HTTP addresses are withheld', async (context) => {
  const cluster = await startCluster(context);
  cluster.declared = cluster.declared.map((peer) => ({ ...peer, http: undefined }));
  const { body } = await cluster.door(1).ask('GET', 'cluster');
  for (const peer of body['peers'] as Record<string, unknown>[]) {
    assert.equal(peer['httpAddressAmbiguous'], true);
    assert.equal(peer['httpAddress'], undefined);
  }
  assert.equal(body['leaderHttpAddress'], null);
  assert.ok(
    (body['alerts'] as Record<string, unknown>[]).some(({ id }) => id === 'peer-address-ambiguous'),
  );
  assert.equal(
    cluster.door(1).logged.filter(({ message }) => message.includes('several servers share'))
      .length,
    1,
  );
});

test('presence asks every server', async (context) => {
  const cluster = await startCluster(context);
  await cluster.door(2).databases.drop('other');
  const { body } = await cluster.door(1).ask('GET', 'cluster?presence=true');
  const ids = cluster.servers.map(({ id }) => id);
  assert.deepEqual(body['databasePresence'], {
    nodes: ids,
    unreachable: [],
    databases: [
      { name: 'other', present: [ids[0], ids[1]], missing: [ids[2]] },
      { name: 'school', present: ids, missing: [] },
    ],
  });
  await cluster.door(2).server.close();
  const again = await cluster.door(1).ask('GET', 'cluster?presence=true');
  assert.deepEqual((again.body['databasePresence'] as Record<string, unknown>)['unreachable'], [
    ids[2],
  ]);
});

test('leadership calls are for the leader: 409 that names it', async (context) => {
  const cluster = await startCluster(context);
  const [first, second] = cluster.servers.map(({ id }) => id);
  for (const [path, body] of [
    ['cluster/leader', {}],
    ['cluster/stepdown', undefined],
  ] as const) {
    const refused = await cluster.door(1).ask('POST', path, body ? { body } : {});
    assert.equal(refused.status, 409);
    const address = `127.0.0.1:${cluster.door(0).port}`;
    assert.equal(
      refused.body['error'],
      `Server 'Service_1' is not the leader. Retry on Service_0 (${address})`,
    );
    assert.deepEqual(
      [refused.body['leader'], refused.body['leaderId'], refused.body['leaderHttpAddress']],
      ['Service_0', first, address],
    );
  }
  assert.equal(cluster.leader, first, 'nothing happened');
  const moved = await cluster.door(0).ask('POST', 'cluster/leader', { body: { peerId: second } });
  assert.deepEqual(moved.body, { result: 'Leadership transferred', leaderId: second });
  const down = await cluster.door(1).ask('POST', 'cluster/stepdown');
  assert.deepEqual([down.status, down.body], [200, { result: 'Leadership step-down initiated' }]);
  assert.notEqual(cluster.leader, second);
});

test('management calls that are wrong are refused with a text that names the cure', async (context) => {
  const cluster = await startCluster(context);
  const peer = { peerId: 'h_7009', address: 'h:7009:2480' };
  const taken = cluster.members.find(({ id }) => id === cluster.server(1).id)?.name ?? '';
  const cases: readonly (readonly [string, string, unknown, number, RegExp])[] = [
    ['POST', 'cluster/peer', undefined, 400, /JSON object/],
    ['POST', 'cluster/peer', '[]', 400, /object/i],
    ['POST', 'cluster/peer', '{', 400, /JSON/i],
    ['POST', 'cluster/peer', {}, 400, /peerId/],
    ['POST', 'cluster/peer', { peerId: 'h_7009' }, 400, /address/],
    ['POST', 'cluster/peer', { ...peer, peer: 1 }, 400, /Unknown field 'peer'/],
    ['POST', 'cluster/peer', { ...peer, peerId: 'h_1' }, 400, /must be 'h_7009'/],
    ['POST', 'cluster/peer', { ...peer, peerId: 5 }, 400, /'peerId' must be a text/],
    ['POST', 'cluster/peer', { ...peer, address: 'h:7009:99999' }, 400, /serverList/],
    ['POST', 'cluster/peer', { ...peer, address: 'h:7009:2480:1:2490:5' }, 400, /serverList/],
    ['POST', 'cluster/peer', { ...peer, address: 'h:{raft:7009,raft:1}' }, 400, /serverList/],
    ['POST', 'cluster/peer', { ...peer, address: 'a@b@h:7009' }, 400, /serverList/],
    ['POST', 'cluster/peer', { ...peer, priority: 1.5 }, 400, /priority/],
    ['POST', 'cluster/peer', { ...peer, learner: 'yes' }, 400, /learner/],
    ['POST', 'cluster/peer', { ...peer, expectedConfigurationIndex: -1 }, 400, /expectedConf/],
    ['POST', 'cluster/peer', { ...peer, name: '\u0007' }, 400, /name/],
    ['POST', 'cluster/peer', { ...peer, name: taken }, 400, /is the name of peer '/],
    [
      'POST',
      'cluster/peer',
      { peerId: cluster.server(0).id, address: '127.0.0.1:7000' },
      400,
      /this server/,
    ],
    ['POST', 'cluster/leader', undefined, 400, /\{\}/],
    ['POST', 'cluster/leader', { to: 'x' }, 400, /Unknown field 'to'/],
    ['POST', 'cluster/leader', { peerId: 'nobody_1' }, 400, /no member/],
    ['POST', 'cluster/leader', { timeoutMs: 0 }, 400, /timeoutMs/],
    ['POST', 'cluster/leader', { timeoutMs: 'soon' }, 400, /timeoutMs/],
    ['DELETE', 'cluster/peer/nobody_1', undefined, 404, /neither a member nor declared/],
    ['DELETE', 'cluster/peer/x?force=perhaps', undefined, 400, /force/],
    ['POST', 'cluster/peer/nobody_1/promote', undefined, 404, /no member/],
    ['POST', 'cluster/peer/x/promote', { ids: 'x' }, 400, /list of texts/],
    ['POST', 'cluster/resync/school', undefined, 400, /ask a follower/],
    ['GET', 'cluster?presence=maybe', undefined, 400, /presence/],
  ];
  for (const [method, path, body, status, cure] of cases) {
    const answer = await cluster
      .door(0)
      .ask(method, path, body === undefined ? {} : { body: body as object });
    assert.equal(answer.status, status, `${path} ${JSON.stringify(body)}: ${answer.text}`);
    assert.match(answer.text, cure);
  }
  assert.deepEqual(cluster.server(0).changes, []);
});

test('membership', async (context) => {
  const cluster = await startCluster(context);
  const body = { peerId: 'h_7009', address: 'h:7009:2480', name: 'Fourth' };
  const added = await cluster.door(1).ask('POST', 'cluster/peer', { body });
  assert.deepEqual(added.body, { result: 'Peer h_7009 added', voter: true, configurationIndex: 9 });
  const [change] = cluster.server(1).changes;
  assert.deepEqual(change?.kind === 'add' && [change.member.http, change.member.name], [
    2480,
    'Fourth',
  ]);
  cluster.server(1).changed = { kind: 'refused', reason: 'lagging', detail: 'h_7009 is behind' };
  const late = await cluster
    .door(1)
    .ask('POST', 'cluster/peer', { body: { ...body, timeoutMs: 5 } });
  assert.deepEqual([late.status, late.body['voter']], [504, false]);
  assert.match(late.text, /did not catch up in 5 ms; it stays a learner until it has/);
  const again = await cluster.door(1).ask('POST', 'cluster/peer', {
    body: { peerId: cluster.server(2).id, address: '127.0.0.1:7002' },
  });
  assert.equal(again.status, 200, 'it is a member');
  assert.equal(cluster.server(1).changes.length, 2, 'nothing was changed for it');

  // An addition that broke off behind its first step, as when the leader changes: asked for again, it goes on.
  cluster.members = cluster.members.map((member) => ({
    ...member,
    voter: member.id !== cluster.server(2).id,
  }));
  cluster.server(1).changed = { kind: 'done', configurationIndex: 11, isVoter: true };
  const learner = { peerId: cluster.server(2).id, address: '127.0.0.1:7002' };
  const on = await cluster.door(1).ask('POST', 'cluster/peer', { body: learner });
  assert.deepEqual([on.status, on.body['voter'], cluster.server(1).changes.length], [200, true, 3]);
  const asLearner = { ...learner, learner: true };
  const stays = await cluster.door(1).ask('POST', 'cluster/peer', { body: asLearner });
  assert.deepEqual([stays.status, stays.body['voter']], [200, false]);
  assert.equal(cluster.server(1).changes.length, 3, 'a learner it is');
  cluster.members = cluster.members.map((member) => ({ ...member, voter: true }));
  cluster.server(0).changed = {
    kind: 'refused',
    reason: 'guard',
    detail: '1 of 2 voters would be left',
  };
  const guarded = await cluster.door(0).ask('DELETE', `cluster/peer/${cluster.server(2).id}`);
  assert.deepEqual([guarded.status, guarded.body['error']], [409, '1 of 2 voters would be left']);
  cluster.server(0).changed = { kind: 'no-leader' };
  const leaderless = await cluster.door(0).ask('DELETE', `cluster/peer/${cluster.server(2).id}`);
  assert.deepEqual([leaderless.status, leaderless.headers['retry-after']], [503, '1']);
});

test('leave hands the lead over first; prepare-stop keeps the membership', async (context) => {
  const cluster = await startCluster(context);
  const left = await cluster.door(0).ask('POST', 'cluster/leave');
  assert.deepEqual(left.body, { result: 'Server Service_0 leaving cluster' });
  assert.notEqual(cluster.leader, cluster.server(0).id);
  assert.deepEqual(cluster.server(0).changes, [
    { kind: 'remove', id: cluster.server(0).id, force: false, isLeaving: true },
  ]);
  assert.equal((await cluster.door(0).ask('GET', 'ready')).status, 503);
  const leader = cluster.servers.findIndex(({ id }) => id === cluster.leader);
  const stopped = await cluster.door(leader).ask('POST', 'cluster/prepare-stop');
  assert.deepEqual(stopped.body, { result: 'Ready to stop', wasLeader: true });
  assert.equal((await cluster.door(leader).ask('GET', 'ready')).status, 503);
});

test('who stops together with all others keeps the lead, now and when it ends', async (context) => {
  const cluster = await startCluster(context);
  const leader = cluster.server(0);
  const ask = (place: number, body: object) =>
    cluster.door(place).ask('POST', 'cluster/prepare-stop', { body });
  assert.equal((await ask(0, { handOver: 'no' })).status, 400);
  assert.equal((await ask(0, { keep: true })).status, 400);
  assert.equal((await cluster.door(0).ask('GET', 'ready')).status, 204, 'nothing was done');
  const stopped = await ask(0, { handOver: false });
  assert.deepEqual(stopped.body, { result: 'Ready to stop', wasLeader: true, handedOver: false });
  const follower = await ask(1, { handOver: false });
  assert.deepEqual(follower.body, { result: 'Ready to stop', wasLeader: false });
  for (const place of [0, 1])
    assert.equal((await cluster.door(place).ask('GET', 'ready')).status, 503);
  assert.equal(cluster.leader, leader.id);
  const end = async (keepsLead: boolean) => {
    const readiness = new Readiness(leader, new Settings(new Map()), silentLog);
    if (keepsLead) readiness.keepLead();
    await handOverStep({ view: leader, readiness }).run(1000);
    assert.equal(readiness.isReady(), false);
    return cluster.leader;
  };
  assert.equal(await end(true), leader.id);
  assert.notEqual(await end(false), leader.id);
});

test('a login token of one server is honoured by all, and a logout ends it everywhere', async (context) => {
  const cluster = await startCluster(context);
  const { body } = await cluster.door(0).ask('POST', 'login');
  const headers = { authorization: `Bearer ${String(body['token'])}` };
  const asked = { headers, user: null };
  for (const place of [1, 2, 0])
    assert.equal(
      (await cluster.door(place).ask('GET', 'databases', asked)).status,
      200,
      String(place),
    );
  const listed = await cluster.door(1).ask('GET', 'sessions');
  assert.equal((listed.body['result'] as Record<string, unknown>[])[0]?.['issuer'], 'Service_0');
  assert.equal((await cluster.door(2).ask('POST', 'logout', asked)).status, 204);
  await until(async () => (await cluster.door(0).ask('GET', 'databases', asked)).status === 401);
  await until(async () => (await cluster.door(1).ask('GET', 'databases', asked)).status === 401);
  const invented = [
    'AU-Service_0-2af64e60-8455-423a-bc64-ed0e19729f04',
    'AU-Service_9-2af64e60-8455-423a-bc64-ed0e19729f04',
    'AU-2af64e60-8455-423a-bc64-ed0e19729f04',
    'AU-',
    'AU--',
  ];
  for (const token of invented) {
    const wrong = { headers: { authorization: `Bearer ${token}` }, user: null };
    assert.equal((await cluster.door(1).ask('GET', 'databases', wrong)).status, 401, token);
  }
});

test('endpoints between servers take the token of the cluster and nothing else', async (context) => {
  const cluster = await startCluster(context);
  const token = { 'x-service-cluster-token': clusterToken };
  const ask = (path: string, asked: object) => cluster.door(0).ask('POST', path, asked);
  const body = { token: 'AU-Service_0-2af64e60-8455-423a-bc64-ed0e19729f04', action: 'validate' };
  assert.equal((await ask('cluster/auth-session', { body })).status, 403);
  assert.equal((await ask('cluster/auth-session', { body, user: null })).status, 401);
  assert.equal(
    (await ask('cluster/auth-session', { body, user: null, headers: token })).status,
    404,
  );
  const wrong = { ...body, action: 'x' };
  assert.equal(
    (await ask('cluster/auth-session', { body: wrong, user: null, headers: token })).status,
    400,
  );
  const told = await ask('cluster/capabilities', { body: {}, user: null, headers: token });
  assert.equal(told.body['peerId'], cluster.server(0).id);
  assert.deepEqual(told.body['formatVersions'], formats);
  const snapshot = (asked: object, path = 'ha/snapshot/school', place = 0) =>
    cluster.door(place).ask('GET', path, asked);
  assert.equal((await snapshot({})).status, 401, 'not even root');
  assert.equal((await snapshot({ user: null })).status, 401);
  assert.equal(
    (await snapshot({ user: null, headers: { 'x-service-cluster-token': 'x' } })).status,
    403,
  );
  const asPeer = { user: null, headers: token };
  assert.equal((await snapshot(asPeer, 'ha/snapshot/school', 1)).status, 409);
  assert.equal((await snapshot(asPeer, 'ha/snapshot/..%2Fx')).status, 400);
  assert.equal((await snapshot(asPeer, 'ha/snapshot/%C3%A4')).status, 400);
});

test('GET /server?mode=cluster', async (context) => {
  const cluster = await startCluster(context);
  const { body } = await cluster.door(1).ask('GET', 'server?mode=cluster');
  const ha = body['ha'] as Record<string, unknown>;
  assert.deepEqual([ha['leader'], ha['electionStatus']], ['Service_0', 'DONE']);
  assert.equal(ha['leaderAddress'], `127.0.0.1:${cluster.door(0).port}`);
  assert.equal(
    ha['replicaAddresses'],
    [1, 2].map((place) => `127.0.0.1:${cluster.door(place).port}`).join(','),
  );
});

test('the token of the cluster is in no answer and no log', async (context) => {
  const cluster: ScriptedCluster = await startCluster(context);
  const texts: string[] = [];
  for (const path of ['cluster?presence=true', 'server', 'server?mode=cluster', 'sessions'])
    texts.push((await cluster.door(1).ask('GET', path)).text);
  await cluster.door(1).ask('POST', 'server', { body: { command: 'create database fresh' } });
  for (const { logged, events } of cluster.doors)
    texts.push(JSON.stringify(logged), JSON.stringify(events.recent()));
  assert.equal(
    texts.some((text) => text.includes(clusterToken)),
    false,
  );
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail('it did not come about');
}

test('connect cluster: a member stays one, one that left is taken in again by a server of the list, others are refused', async (context) => {
  const cluster = await startCluster(context);
  const connect = (place: number, address: string) =>
    cluster.door(place).ask('POST', 'server', { body: { command: `connect cluster ${address}` } });
  const leader = `127.0.0.1:${cluster.door(0).port}`;
  assert.equal((await connect(1, leader)).status, 200);
  assert.deepEqual(cluster.server(0).changes, []);
  const asked = /POST \/api\/v1\/cluster\/peer/;
  const isAsked = cluster.door(0).logged.some(({ message }) => asked.test(message));
  assert.ok(isAsked, 'who was taken out may not know it yet, so the cluster is asked');
  cluster.members = cluster.members.filter(({ id }) => id !== cluster.server(1).id);
  const elsewhere = await connect(1, '10.9.8.7:2480');
  assert.deepEqual([elsewhere.status, elsewhere.body['result']], [400, undefined]);
  assert.match(elsewhere.text, /service\.ha\.serverList/);
  const taken = await connect(1, `127.0.0.1:7000:${cluster.door(0).port}`);
  assert.equal(taken.status, 200, taken.text);
  const [change] = cluster.server(0).changes;
  assert.equal(change?.kind === 'add' && change.member.id, cluster.server(1).id);
  cluster.members = cluster.members.filter(({ id }) => id === cluster.server(0).id);
  assert.match((await connect(0, leader)).text, /a cluster of its own/);
});

test('disconnect cluster leaves it, as POST /cluster/leave does', async (context) => {
  const cluster = await startCluster(context);
  const disconnect = (place: number, more = '') =>
    cluster.door(place).ask('POST', 'server', { body: { command: `disconnect cluster${more}` } });
  assert.equal((await disconnect(1, ' now')).status, 400);
  assert.deepEqual(cluster.server(1).changes, []);
  cluster.server(1).changed = { kind: 'refused', reason: 'guard', detail: '1 of 2 would be left' };
  const refused = await disconnect(1);
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.text, /1 of 2 would be left/);
  cluster.server(1).changed = { kind: 'done', configurationIndex: 9, isVoter: true };
  const left = await disconnect(1);
  assert.deepEqual([left.status, left.body['result']], [200, 'ok']);
  const change = cluster.server(1).changes.at(-1);
  assert.deepEqual(change, {
    kind: 'remove',
    id: cluster.server(1).id,
    force: false,
    isLeaving: true,
  });
  assert.equal((await cluster.door(1).ask('GET', 'ready')).status, 503);
});

test('a new member that does not get the users of the cluster in time is told of by name', async (context) => {
  const cluster = await startCluster(context);
  const command = 'set server setting service.ha.securitySeedRetryTimeout 1000';
  await cluster.door(0).ask('POST', 'server', { body: { command } });
  const server = cluster.server(0);
  server.fillsNewMembers = false;
  const body = { peerId: '10.9.8.7_2434', address: '10.9.8.7:2434:2480' };
  const answer = await cluster.door(0).ask('POST', 'cluster/peer', { body });
  assert.equal(answer.status, 503, answer.text);
  assert.deepEqual(answer.body['failedSeeds'], ['server-users.jsonl']);
  server.fillsNewMembers = true;
  assert.equal((await cluster.door(0).ask('POST', 'cluster/peer', { body })).status, 200);
});

test('declared ports of other doors are shown, and withheld when two servers share them', async (context) => {
  const cluster = await startCluster(context);
  cluster.declared = cluster.declared.map((peer, place) => ({
    ...peer,
    bolt: 7687 + place,
    ...(place > 0 && { grpc: 50_051 }),
  }));
  const { body } = await cluster.door(1).ask('GET', 'cluster');
  const peers = body['peers'] as Record<string, unknown>[];
  assert.deepEqual(
    peers.map(({ boltAddress, grpcAddress, grpcAddressAmbiguous }) => [
      boltAddress,
      grpcAddress,
      grpcAddressAmbiguous,
    ]),
    [
      ['127.0.0.1:7687', undefined, undefined],
      ['127.0.0.1:7688', undefined, true],
      ['127.0.0.1:7689', undefined, true],
    ],
  );
});

test('settings that differ between servers are told once by the leader', async (context) => {
  const cluster = await startCluster(context);
  const ask = cluster.door(1);
  const token = { 'x-service-cluster-token': clusterToken };
  const { body } = await ask.ask('POST', 'cluster/capabilities', {
    body: {},
    user: null,
    headers: token,
  });
  const settings = body['settings'] as Record<string, string>;
  assert.equal(settings['service.ha.quorum'], 'majority');
  const told: string[] = [];
  const log = { ...silentLog, warn: (text: string) => void told.push(text) };
  const [leader] = cluster.servers;
  assert.ok(leader);
  const addresses = new PeerAddresses(leader, {
    ownPorts: () => ({ http: cluster.door(0).port, https: undefined }),
    log: silentLog,
  });
  const poll = new CapabilityPoll({
    view: leader,
    addresses,
    http: new PeerHttp(
      { settings: new Settings(new Map()), timers: systemRuntime.timers },
      undefined,
    ),
    token: new ClusterToken([clusterToken]),
    timers: systemRuntime.timers,
    settings: { ...settings, 'service.ha.quorum': 'all' },
    log,
  });
  await poll.poll();
  await poll.poll();
  assert.equal(told.length, 2, told.join('\n'));
  assert.match(
    told[0] ?? '',
    /service\.ha\.quorum is 'majority' on 127\.0\.0\.1_700[12] and 'all'/,
  );
});

test('a server that has not said what its build understands is asked again soon, and by a new leader at once', async (context) => {
  const cluster = await startCluster(context);
  const [view] = cluster.servers;
  assert.ok(view);
  const waits: number[] = [];
  let due = () => {};
  const timers = {
    ...systemRuntime.timers,
    after: (ms: number, then: () => void) => {
      waits.push(ms);
      due = then;
      return () => {};
    },
  };
  const settings = new Settings(new Map());
  const ownPorts = () => ({ http: cluster.door(0).port, https: undefined });
  const poll = new CapabilityPoll({
    view,
    addresses: new PeerAddresses(view, { ownPorts, log: silentLog }),
    http: new PeerHttp({ settings, timers: systemRuntime.timers }, undefined),
    token: new ClusterToken([clusterToken]),
    timers,
    settings: {},
    log: silentLog,
  });
  const nextWait = async () => {
    const { length } = waits;
    due();
    while (waits.length === length) await systemRuntime.timers.sleep(2);
    return waits.at(-1);
  };
  const third = cluster.declared[2];
  assert.ok(third);
  cluster.declared[2] = { ...third, http: 1 };
  poll.start();
  assert.deepEqual(waits, [1000]);
  assert.equal(await nextWait(), 2000, 'one has not answered');
  assert.equal(poll.unknownReason(third.id), 'unreachable');
  cluster.declared[2] = third;
  assert.equal(await nextWait(), 30_000);
  assert.equal(poll.known(third.id)?.version, '26.10.1');
  cluster.elect(third.id);
  assert.equal(waits.at(-1), 30_000);
  cluster.elect(view.id);
  assert.equal(waits.at(-1), 0, 'it leads again');
  poll.close();
});
