import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterToken, startCluster } from '../../support/scripted-cluster.ts';

// Calls of the management endpoints that are malformed or unsafe: each is refused with a text that says what to do, and changes
// nothing (contract 3; ha.md 11.2).

type Case = readonly [method: string, path: string, body: unknown, status: number, cure: RegExp];

const good = { peerId: 'h_7009', address: 'h:7009:2480' };
const long = 'x'.repeat(600);

const newPeers: readonly Case[] = (
  [
    [undefined, /JSON object/],
    ['', /JSON object/],
    ['null', /object/i],
    ['[]', /object/i],
    ['5', /object/i],
    ['"text"', /object/i],
    ['{', /JSON/i],
    ['{"peerId":"h_7009"', /JSON/i],
    ['{"peerId":}', /JSON/i],
    [{}, /'peerId' is missing/],
    [{ address: good.address }, /'peerId' is missing/],
    [{ peerId: good.peerId }, /'address' is missing/],
    [{ ...good, peerId: null }, /'peerId' is missing/],
    [{ ...good, peerId: '' }, /1 to 512 printable/],
    [{ ...good, peerId: '   ' }, /1 to 512 printable/],
    [{ ...good, peerId: long }, /1 to 512 printable/],
    [{ ...good, peerId: 'h_7009\u0000' }, /1 to 512 printable/],
    [{ ...good, peerId: 'h_7009\nx' }, /1 to 512 printable/],
    [{ ...good, peerId: ['h_7009'] }, /'peerId' must be a text/],
    [{ ...good, peerId: { id: 'h_7009' } }, /'peerId' must be a text/],
    [{ ...good, peerId: true }, /'peerId' must be a text/],
    [{ ...good, peerId: 'h_7010' }, /must be 'h_7009'/],
    [{ ...good, peerId: 'H_7009' }, /must be 'h_7009'/],
    [{ ...good, peerId: '../h_7009' }, /must be 'h_7009'/],
    [{ ...good, address: '' }, /1 to 512 printable/],
    [{ ...good, address: ':7009:2480' }, /serverList/],
    [{ ...good, address: 'h:' }, /serverList/],
    [{ ...good, address: 'h:x:2480' }, /serverList/],
    [{ ...good, address: 'h:-1:2480' }, /serverList/],
    [{ ...good, address: 'h:0:2480' }, /serverList/],
    [{ ...good, address: 'h:70099:2480' }, /serverList/],
    [{ ...good, address: 'h:7009:0' }, /serverList/],
    [{ ...good, address: 'h:7009:65536' }, /serverList/],
    [{ ...good, address: 'h:7009:2480:high' }, /serverList/],
    [{ ...good, address: 'h:7009.5' }, /serverList/],
    [{ ...good, address: 'h:{raft:7009' }, /serverList/],
    [{ ...good, address: 'h:{raft:7009,port:1}' }, /serverList/],
    [{ ...good, address: 'h:{raft:x}' }, /serverList/],
    [{ ...good, address: 'a@h:7009,b@i:7009' }, /serverList/],
    [{ ...good, address: 'http://h:7009' }, /serverList/],
    [{ ...good, address: 'h/../i:7009' }, /serverList/],
    [{ ...good, address: 'h i:7009' }, /serverList/],
    [{ ...good, address: 7009 }, /'address' must be a text/],
    [{ ...good, name: '' }, /'name'/],
    [{ ...good, name: long }, /'name'/],
    [{ ...good, name: 7 }, /'name' must be a text/],
    [{ ...good, priority: 'high' }, /'priority' must be a whole number/],
    [{ ...good, priority: 1e12 }, /'priority' must be a whole number/],
    [{ ...good, learner: 1 }, /'learner' must be true or false/],
    [{ ...good, learner: 'true' }, /'learner' must be true or false/],
    [{ ...good, expectedConfigurationIndex: 1.5 }, /'expectedConfigurationIndex'/],
    [{ ...good, expectedConfigurationIndex: 'x' }, /'expectedConfigurationIndex'/],
    [{ ...good, timeoutMs: -1 }, /'timeoutMs'/],
    [{ ...good, timeoutMs: 1e9 }, /'timeoutMs'/],
    [{ ...good, voter: true }, /Unknown field 'voter'; use peerId/],
    [{ ...good, storageId: 'mine' }, /Unknown field 'storageId'/],
    [{ ...good, ['x'.repeat(500)]: 1 }, /Unknown field 'x{60}'/],
    [{ ...good, __proto__x: 1 }, /Unknown field/],
    [{ peerId: '127.0.0.1_7000', address: '127.0.0.1:7000' }, /is this server/],
  ] as const
).map(([body, cure]) => ['POST', 'cluster/peer', body, 400, cure]);

const others: readonly Case[] = [
  ['POST', 'cluster/leader', undefined, 400, /\{\} asks for nothing special/],
  ['POST', 'cluster/leader', '[]', 400, /object/i],
  ['POST', 'cluster/leader', { peerId: 7 }, 400, /'peerId' must be a text/],
  ['POST', 'cluster/leader', { peerId: 'nobody_1' }, 400, /is no member/],
  ['POST', 'cluster/leader', { timeoutMs: null, to: 1 }, 400, /Unknown field 'to'; use peerId/],
  ['POST', 'cluster/leader', { timeoutMs: 0 }, 400, /whole number from 1/],
  ['POST', 'cluster/leader', { timeoutMs: 4e6 }, 400, /whole number from 1/],
  ['POST', 'cluster/stepdown', '{', 400, /JSON/i],
  ['POST', 'cluster/leave', '{', 400, /JSON/i],
  ['POST', 'cluster/leave?force=2', undefined, 400, /'force' is '2'; it must be true or false/],
  ['POST', 'cluster/prepare-stop', '[1]', 400, /object/i],
  ['DELETE', 'cluster/peer/nobody_1', undefined, 404, /neither a member nor declared/],
  ['DELETE', 'cluster/peer/%00', undefined, 404, /neither a member nor declared/],
  ['DELETE', 'cluster/peer/..%2F..%2Fetc', undefined, 404, /neither a member nor declared/],
  ['DELETE', `cluster/peer/${long}`, undefined, 404, /neither a member nor declared/],
  ['DELETE', 'cluster/peer/x?force=yes', undefined, 400, /must be true or false/],
  ['POST', 'cluster/peer/nobody_1/promote', undefined, 404, /is no member/],
  ['POST', 'cluster/peer/x_1/promote', { ids: 'x' }, 400, /list of texts/],
  ['POST', 'cluster/peer/x_1/promote', { ids: [7] }, 400, /list of texts/],
  ['POST', 'cluster/peer/x_1/promote', { ids: [''] }, 400, /list of texts/],
  ['POST', 'cluster/peer/x_1/promote', { id: 'x' }, 400, /Unknown field 'id'/],
  ['POST', 'cluster/resync/school', undefined, 400, /ask a follower/],
  ['POST', 'cluster/resync/..%2Fschool', undefined, 400, /./],
  ['POST', 'cluster/verify/..%2F..%2Fetc', undefined, 400, /./],
  ['POST', 'cluster/verify/nothing', undefined, 404, /'nothing' does not exist/],
  ['GET', 'cluster?presence=2', undefined, 400, /'presence' is '2'; it must be true or false/],
];

test('wrong and unsafe management calls are refused with a text that names the cure, and change nothing', async (context) => {
  const cluster = await startCluster(context);
  const cases = [...newPeers, ...others];
  assert.ok(cases.length >= 80, String(cases.length));
  const { leader } = cluster;
  for (const [method, path, body, status, cure] of cases) {
    const asked = body === undefined ? {} : { body: body as object };
    const answer = await cluster.door(0).ask(method, path, asked);
    const shown = `${method} ${path.slice(0, 60)} ${JSON.stringify(body)?.slice(0, 80)}`;
    assert.equal(answer.status, status, `${shown}: ${answer.text.slice(0, 300)}`);
    assert.match(answer.text, cure, shown);
    assert.ok(answer.text.length < 1500, shown);
    assert.equal(answer.text.includes(clusterToken), false);
  }
  assert.deepEqual(
    cluster.servers.flatMap(({ changes }) => changes),
    [],
  );
  assert.equal(cluster.leader, leader);
});

test('what cannot be done now is 409 or 503 with the reason, on any member', async (context) => {
  const cluster = await startCluster(context);
  const [, second, third] = cluster.servers;
  assert.ok(second && third);
  const answers: (readonly [typeof second.changed, number, RegExp])[] = [
    [{ kind: 'no-leader' }, 503, /leader/],
    [{ kind: 'no-leader', mayBeDone: true }, 504, /ask again, or look at GET \/cluster/],
    [
      { kind: 'refused', reason: 'pending', detail: 'a change is under way' },
      409,
      /MembershipChangeInProgressException/,
    ],
    [
      { kind: 'refused', reason: 'index-mismatch', detail: 'the configuration is 9, not 4' },
      409,
      /9, not 4/,
    ],
    [{ kind: 'refused', reason: 'guard', detail: '1 of 2 voters would be left' }, 409, /1 of 2/],
  ];
  for (const [changed, status, reason] of answers) {
    second.changed = changed;
    if (status !== 504) {
      const added = await cluster.door(1).ask('POST', 'cluster/peer', { body: good });
      assert.deepEqual([added.status, reason.test(added.text)], [status, true], added.text);
    }
    // An election is waited for.
    if (status === 503) continue;
    const removed = await cluster.door(1).ask('DELETE', `cluster/peer/${third.id}`);
    assert.deepEqual([removed.status, reason.test(removed.text)], [status, true], removed.text);
  }
  second.changed = { kind: 'refused', reason: 'lagging', detail: 'it is 500 entries behind' };
  const late = await cluster.door(1).ask('POST', 'cluster/peer', { body: good });
  assert.deepEqual([late.status, late.body['voter']], [504, false], late.text);
  const staleIndex = { ...good, expectedConfigurationIndex: 4 };
  second.changed = { kind: 'done', configurationIndex: 10, isVoter: true };
  await cluster.door(1).ask('POST', 'cluster/peer', { body: staleIndex });
  const last = second.changes.at(-1);
  assert.equal(
    last?.kind === 'add' && last.expectedIndex,
    4,
    'the index goes to consensus as it came',
  );
  const path = `cluster/peer/${third.id}?expectedConfigurationIndex`;
  await cluster.door(1).ask('DELETE', `${path}=5`);
  const removal = second.changes.at(-1);
  assert.equal(removal?.kind === 'remove' && removal.expectedIndex, 5);
  for (const wrong of ['-1', '1.5', 'x', ''])
    assert.equal((await cluster.door(1).ask('DELETE', `${path}=${wrong}`)).status, 400, wrong);
  const count = second.changes.length;
  const body = { expectedConfigurationIndex: 1_000_000 };
  const left = await cluster.door(1).ask('POST', 'cluster/leave', { body });
  assert.equal(left.status, 409, left.text);
  assert.match(left.text, /not 1000000/);
  assert.equal(second.changes.length, count, 'nothing was asked of consensus');
});
