import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { type ClientEvent, clientPod, endClients, eventsOf } from '../steps/client-pod.ts';
import { mustBeConsistent, podsOf, uidsOf } from '../steps/group.ts';
import { serverCommand, sql } from '../steps/member.ts';
import { isReady, type KubernetesObject, type Namespace, valueAt } from '../steps/objects.ts';

/*
 * Clients that hold a WebSocket while members go: streamed inserts and change events.
 */

const program = readFileSync(new URL('../steps/stream-clients.ts', import.meta.url), 'utf8');
const patienceMs = 60_000;

async function untilSaid(
  namespace: Namespace,
  what: string,
  isEnough: (events: readonly ClientEvent[]) => boolean,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!isEnough(await eventsOf(namespace, 'streams'))) {
    if (performance.now() > deadline) throw new Error(`the clients did not say: ${what}`);
    await pause(300);
  }
}

const having = (events: readonly ClientEvent[], name: string): readonly ClientEvent[] =>
  events.filter((event) => name in event);

export const streamScenarios: readonly Scenario[] = [
  {
    id: 'C3',
    title:
      'streamed inserts and change events while three members restart: both come back, nothing is lost or applied twice',
    level: 2,
    async run({ namespace, cluster, image, report }) {
      await cluster('flow', { replicas: 3 });
      const [first = ''] = podsOf('flow');
      await serverCommand(namespace, first, 'create database load');
      for (const statement of [
        'CREATE DOCUMENT TYPE Entry',
        'CREATE PROPERTY Entry.n LONG',
        'CREATE INDEX ON Entry (n) UNIQUE',
      ])
        await sql(namespace, first, 'load', statement);
      const rootSecret = 'flow-root';
      const given = { cluster: 'flow', image, rootSecret, program, words: ['flow-rw'] };
      await namespace.apply(clientPod('streams', given));
      const isRunning = (pod: KubernetesObject | undefined) =>
        valueAt(pod, 'status.phase') === 'Running';
      await namespace.waitFor('pod', 'streams', 'running', 'clusterReady', isRunning);
      await untilSaid(
        namespace,
        'acknowledged and told',
        (events) => having(events, 'acknowledged').length > 20 && having(events, 'told').length > 2,
      );

      const uids = await uidsOf(namespace, 'flow');
      const settings = { 'service.server.wsMaxConnections': '777' };
      await namespace.patch('pyd', 'flow', { spec: { settings } });
      await namespace.waitFor('pyd', 'flow', 'Ready', 'rolled', isReady);
      for (const [pod, uid] of Object.entries(await uidsOf(namespace, 'flow')))
        assert.notEqual(uid, uids[pod], `${pod} was not restarted`);
      const rolledAt = Date.now();
      const since = (events: readonly ClientEvent[], name: string) =>
        having(events, name).filter(({ at }) => Number(at) > rolledAt);
      await untilSaid(
        namespace,
        'acknowledged and told after the roll',
        (events) => since(events, 'acknowledged').length > 20 && since(events, 'told').length > 2,
      );

      const events = await endClients(namespace, 'streams');
      assert.deepEqual(having(events, 'appliedTwice'), []);
      assert.deepEqual(having(events, 'toldTwice'), []);
      const sessions = having(events, 'started').length;
      const subscriptions = having(events, 'subscribed').length;
      assert.ok(sessions > 1 && subscriptions > 1, 'no connection was lost');
      const chunks = having(events, 'acknowledged');
      const replays = having(events, 'replayed').length;
      assert.ok(replays > 40, `${replays} replays`);
      report(`${chunks.length} chunks, ${replays} sent again, ${sessions} sessions`);
      report(`${subscriptions} subscriptions`);
      await mustBeConsistent(namespace, 'flow', 'load');
      const rows = await sql(namespace, first, 'load', 'SELECT n FROM Entry ORDER BY n');
      const stored = new Set(rows.map(({ n }) => Number(n)));
      assert.equal(stored.size, rows.length, 'a row is stored twice');
      for (const { acknowledged } of chunks)
        for (let row = 0; row < 10; row += 1)
          assert.ok(stored.has(Number(acknowledged) * 10 + row), `chunk ${acknowledged} is lost`);
      await namespace.kubectl(['delete', 'pod', 'streams', '--wait=false']);
    },
  },
];
