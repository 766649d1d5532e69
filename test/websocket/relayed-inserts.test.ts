import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InsertOptions } from '#database/inserts/insert-port.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { SocketServer } from '#websocket/socket-server.ts';
import { type ScriptedCluster, startCluster } from '../cluster/support/scripted-cluster.ts';
import { basic } from '../http/door-fixture.ts';
import { TestClient } from './socket-fixture.ts';

// Streamed inserts at a server that does not lead (ha.md 6.6): three doors, and a leader that the test names.

interface Written {
  readonly place: number;
  readonly user: string;
  readonly events: string[];
}

/** Servers whose databases note what streams ask of them. */
async function startSocketCluster(context: TestContext) {
  const written: Written[] = [];
  const cluster: ScriptedCluster = await startCluster(
    context,
    3,
    { 'ha.electionTimeoutMin': '100', 'ha.electionTimeoutMax': '200' },
    undefined,
    (parts, server) => {
      const sockets = new SocketServer({ ...parts, runtime: systemRuntime });
      server.mountUpgrade('/ws', (upgrade) => sockets.accept(upgrade));
      context.after(() => sockets.close(0));
    },
  );
  for (const [place, { databases }] of cluster.doors.entries())
    databases.insertStream = ({ principal }: InsertOptions) => {
      const events: string[] = [];
      written.push({ place, user: principal.name, events });
      return {
        apply: async (records) => {
          events.push(`apply ${records.length}`);
          const none = { updated: 0, ignored: 0, failed: 0, errors: [], isApplied: true };
          return { received: records.length, inserted: records.length, ...none };
        },
        commit: async () => void events.push('commit'),
        rollback: () => void events.push('rollback'),
      };
    };
  const connect = async (place: number, authorization = basic('root')) => {
    const client = await TestClient.open(cluster.door(place).port, authorization);
    context.after(() => client.socket.terminate());
    return client;
  };
  return { cluster, written, connect };
}

const start = { action: 'start', database: 'school', options: { targetType: 'Person' } };
const chunk = (sessionId: unknown, chunkSeq: number) => ({
  action: 'chunk',
  sessionId,
  chunkSeq,
  records: [{ name: 'Ada' }, { name: 'Bob' }],
});

test('a session that is opened at a follower is the leader’s, and answers come back', async (context) => {
  const { cluster, written, connect } = await startSocketCluster(context);
  const client = await connect(1);
  const started = await client.ask(start);
  assert.equal(started['action'], 'started', JSON.stringify(started));
  const { sessionId } = started;
  const first = await client.ask(chunk(sessionId, 1));
  assert.deepEqual([first['action'], first['inserted']], ['batchAck', 2]);
  assert.equal(first['commitIndex'], 5, 'a bookmark, as on the last line of a batch');
  const repeated = await client.ask(chunk(sessionId, 1));
  assert.equal(repeated['replay'], true);
  const skipped = await client.ask(chunk(sessionId, 3));
  assert.equal(skipped['error'], 'Insert session error');
  const ended = await client.ask({ action: 'commit', sessionId });
  assert.deepEqual([ended['action'], ended['outcome']], ['committed', 'commit']);
  assert.deepEqual(written, [{ place: 0, user: 'root', events: ['apply 2', 'commit'] }]);
  const late = await client.ask({ action: 'commit', sessionId });
  assert.match(String(late['detail']), /not found or expired/);
  cluster.elect(cluster.server(1).id);
  const again = await client.ask(start);
  assert.equal(again['action'], 'started');
  assert.equal(written[1]?.place, 1, 'this server leads now');
});

test('rights are those of the client, and a chunk may be longer than a control message', async (context) => {
  const { written, connect } = await startSocketCluster(context);
  const jay = await connect(2, basic('jay'));
  const refused = await jay.ask({ ...start, database: 'other' });
  assert.equal(refused['error'], 'Security error', JSON.stringify(refused));
  const { sessionId } = await jay.ask(start);
  const records = [{ name: 'x'.repeat(200_000) }];
  const taken = await jay.ask({ action: 'chunk', sessionId, chunkSeq: 1, records });
  assert.equal(taken['inserted'], 1);
  assert.deepEqual(written, [{ place: 0, user: 'jay', events: ['apply 1'] }]);
});

test('what is open is rolled back when the client leaves', async (context) => {
  const { written, connect } = await startSocketCluster(context);
  const client = await connect(1);
  const { sessionId } = await client.ask(start);
  await client.ask(chunk(sessionId, 1));
  client.socket.terminate();
  while (written[0]?.events.at(-1) !== 'rollback') await systemRuntime.timers.sleep(5);
  assert.deepEqual(written[0]?.events, ['apply 2', 'rollback']);
});

test('a session ends with the leadership: the client is told, and may begin anew', async (context) => {
  const { cluster, written, connect } = await startSocketCluster(context);
  const client = await connect(1);
  const { sessionId } = await client.ask(start);
  cluster.elect(cluster.server(2).id);
  const told = await client.next();
  assert.equal(told['error'], 'Insert session error');
  assert.match(String(told['detail']), /leads no more/);
  assert.equal(told['sessionId'], sessionId);
  const again = await client.ask(start);
  assert.equal(again['action'], 'started', JSON.stringify(again));
  assert.equal(written.at(-1)?.place, 2);
});

test('a connection that another server opened is not given on a second time', async (context) => {
  const { cluster, connect } = await startSocketCluster(context);
  const client = await connect(1);
  cluster.elect(undefined);
  const asked = client.ask(start);
  cluster.elect(cluster.server(0).id);
  assert.equal((await asked)['action'], 'started');
});
