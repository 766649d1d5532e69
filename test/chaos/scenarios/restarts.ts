import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import {
  command,
  linearizable,
  makeSchool,
  rows,
  startProcesses,
  until,
} from '../../cluster/processes/support.ts';
import { unlikeCopies } from '../copies.ts';
import { seeded } from '../../raft/support/random.ts';

// All or most of the servers at once, again and again; a cluster that grows and shrinks under load (ha-testing.md 10 F8, F9, M1, R2).

const rounds = Number(process.env['ROUNDS'] ?? 20);
const seed = Number(process.env['SEED'] ?? 1);

/** Writes with ids of their own, each until it is acknowledged, whoever is there. */
class Writers {
  readonly acknowledged = new Set<number>();
  readonly failures: string[] = [];
  bookmark = 0;
  #isOver = false;
  #next: number;
  readonly #cluster: LocalCluster;
  readonly #all: readonly Promise<void>[];

  /** @param after the numbers that were used before: with them the ids of requests would come again */
  constructor(cluster: LocalCluster, count: number, after = 0) {
    this.#cluster = cluster;
    this.#next = after;
    this.#all = Array.from({ length: count }, () => this.#write());
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#all);
  }

  async goOn(count: number): Promise<void> {
    const before = this.acknowledged.size;
    await until('writes go on', async () => this.acknowledged.size >= before + count, 2400);
  }

  async #write(): Promise<void> {
    while (!this.#isOver) {
      this.#next += 1;
      await this.#writeUntilTaken(this.#next);
    }
  }

  /** As documented: 503, a broken connection and a request that is under way are repeated with the same id (http-api.md 3). */
  async #writeUntilTaken(number: number): Promise<void> {
    const headers = { 'x-request-id': `n${number}` };
    const text = `INSERT INTO Person SET number = ${number}`;
    for (let turn = 0; turn < 2000; turn += 1) {
      const { servers } = this.#cluster;
      const server = servers[(number + turn) % servers.length] as LocalServer;
      const answer = await command(this.#cluster, server, text, headers).catch(() => undefined);
      const isUnderWay = JSON.stringify(answer?.body ?? '').includes('RequestStillInFlight');
      if (answer?.status === 200) {
        this.acknowledged.add(number);
        const index = Number(answer.headers.get('x-service-commit-index'));
        this.bookmark = Math.max(this.bookmark, index);
        return;
      }
      const mayRepeat = [undefined, 500, 503, 504].includes(answer?.status) || isUnderWay;
      if (!mayRepeat) {
        this.failures.push(`${number}: ${answer?.status} ${JSON.stringify(answer?.body)}`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    this.failures.push(`${number} was never taken`);
  }
}

async function everythingIsThere(cluster: LocalCluster, writers: Writers): Promise<void> {
  assert.deepEqual(writers.failures, []);
  for (const server of cluster.servers) {
    const query = 'SELECT number FROM Person LIMIT -1';
    const found = (await rows(cluster, server, query, linearizable)).map(({ number }) => number);
    const there = new Set(found);
    assert.equal(there.size, found.length, 'nothing is there twice');
    const lost = [...writers.acknowledged].filter((number) => !there.has(number));
    assert.deepEqual(lost, [], `${server.options.name} of ${writers.acknowledged.size}`);
  }
}

test(`F8: all are killed at once ${rounds} times and start in any order: nothing is lost, bookmarks go on (seed ${seed})`, async (context) => {
  const cluster = await startProcesses(context, 3);
  await makeSchool(cluster, await cluster.leader());
  const random = seeded(seed);
  let bookmark = 0;
  for (let round = 0; round < rounds; round += 1) {
    const writers = new Writers(cluster, 3, round * 1_000_000);
    await writers.goOn(10);
    await Promise.all(cluster.servers.map((server) => server.kill()));
    const order = [...cluster.servers].sort(() => random(3) - 1);
    await Promise.all(order.map(({ place }) => cluster.restart(place)));
    await writers.goOn(3);
    await writers.stop();
    await everythingIsThere(cluster, writers);
    assert.ok(writers.bookmark > bookmark, 'an index goes back');
    ({ bookmark } = writers);
    await rows(cluster, await cluster.leader(), 'DELETE FROM Person');
  }
});

test('F9: two of three are killed under load: what nobody knew is known afterwards, once', async (context) => {
  const cluster = await startProcesses(context, 3);
  await makeSchool(cluster, await cluster.leader());
  const writers = new Writers(cluster, 4);
  for (let round = 0; round < 3; round += 1) {
    await writers.goOn(15);
    const leader = await cluster.leader();
    const other = cluster.servers.find((server) => server !== leader);
    assert.ok(other);
    await Promise.all([leader.kill(), other.kill()]);
    await Promise.all([leader, other].map(({ place }) => cluster.restart(place)));
  }
  await writers.goOn(10);
  await writers.stop();
  await everythingIsThere(cluster, writers);
});

test('M1: three servers become five and three again under load, the leader among those that go', async (context) => {
  const cluster = await startProcesses(context, 3);
  await makeSchool(cluster, await cluster.leader());
  const writers = new Writers(cluster, 3);
  await writers.goOn(10);
  for (let more = 0; more < 2; more += 1) {
    await cluster.add();
    await writers.goOn(10);
  }
  assert.equal(cluster.servers.length, 5);
  const leader = await cluster.leader();
  await cluster.remove(leader.place);
  await writers.goOn(10);
  const [first] = cluster.servers;
  assert.ok(first);
  await cluster.remove(first.place);
  await writers.goOn(10);
  await writers.stop();
  await everythingIsThere(cluster, writers);
  assert.equal(cluster.servers.length, 3);
  assert.equal(await unlikeCopies(cluster, 'school'), undefined);
});
