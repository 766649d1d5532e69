import assert from 'node:assert/strict';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { command, linearizable, rows, until } from '../../cluster/processes/support.ts';

/** Writes with ids of their own, each until it is acknowledged, whoever is there. */
export class Writers {
  readonly acknowledged = new Set<number>();
  readonly failures: string[] = [];
  bookmark = 0;
  /** The longest that nobody was acknowledged for, in milliseconds. */
  longestStallMs = 0;
  #acknowledgedMs: number | undefined;
  #isOver = false;
  #isAbandoned = false;
  #next: number;
  readonly #cluster: LocalCluster;
  readonly #all: readonly Promise<void>[];

  /** @param after the numbers that were used before: with them the ids of requests would come again */
  constructor(cluster: LocalCluster, count: number, after = 0) {
    this.#cluster = cluster;
    this.#next = after;
    this.#all = Array.from({ length: count }, () => this.#write());
  }

  /** What is not taken is given up. */
  abandon(): void {
    this.#isOver = true;
    this.#isAbandoned = true;
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
    for (let turn = 0; turn < 2000 && !this.#isAbandoned; turn += 1) {
      const { servers } = this.#cluster;
      const server = servers[(number + turn) % servers.length] as LocalServer;
      const answer = await command(this.#cluster, server, text, headers).catch(() => undefined);
      const isUnderWay = JSON.stringify(answer?.body ?? '').includes('RequestStillInFlight');
      if (answer?.status === 200) {
        this.acknowledged.add(number);
        const nowMs = performance.now();
        const stallMs = nowMs - (this.#acknowledgedMs ?? nowMs);
        this.longestStallMs = Math.max(this.longestStallMs, stallMs);
        this.#acknowledgedMs = nowMs;
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

/** On every server: what was acknowledged, once. */
export async function everythingIsThere(cluster: LocalCluster, writers: Writers): Promise<void> {
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
