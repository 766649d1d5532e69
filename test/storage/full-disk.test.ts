import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { smallDisk } from '#test/support/small-disk.ts';
import { Log, openEngine, person, propertiesOf, put, turnTimers } from './engine-fixture.ts';

// A real disk of some megabytes that runs full (where file systems may be mounted), and has room again.

const diskBytes = 40 * 1024 * 1024;

/** Checkpoints only when the engine itself asks for them. */
const timers = { ...turnTimers, after: () => () => {} };

class Client {
  readonly acknowledged = new Map<number, Value>();
  readonly #engine: LmdbEngine;
  #log: Log;
  #next = 0;

  constructor(engine: LmdbEngine, before?: Client) {
    this.#engine = engine;
    if (before !== undefined) this.#next = before.#next;
    for (const [position, value] of before?.acknowledged ?? [])
      this.acknowledged.set(position, value);
    this.#log = new Log(engine);
  }

  /** @returns the error of the commit */
  async commit(bytes: number): Promise<DatabaseError | undefined> {
    const position = this.#next++;
    const value = `${position} ${'x'.repeat(bytes)}`;
    try {
      await this.#log.commit(put(this.#engine, person(position), { value }));
      this.acknowledged.set(position, value);
      return undefined;
    } catch (error) {
      // The next entry takes the number of the one that failed, as the room above does it.
      this.#log = new Log(this.#engine);
      assert.ok(error instanceof DatabaseError, String(error));
      return error;
    }
  }

  requireContents(engine: LmdbEngine): void {
    for (let position = 0; position < this.#next; position += 1) {
      const value = propertiesOf(engine, person(position))?.get('value');
      assert.equal(value, this.acknowledged.get(position), `record ${position}`);
    }
  }
}

/** Commits of one size until one fails. */
async function fill(client: Client, bytes: number): Promise<DatabaseError> {
  for (let count = 0; count < 20_000; count += 1) {
    const error = await client.commit(bytes);
    if (error !== undefined) return error;
  }
  return assert.fail('the disk never ran full');
}

/** There is space again; a checkpoint that found none before may be about to tell it. */
async function goOn(client: Client, bytes: number): Promise<void> {
  const refusal = await client.commit(bytes);
  if (refusal !== undefined) assert.equal(refusal.code, 'Busy');
  assert.equal(await client.commit(bytes), undefined);
}

for (const [what, bytes] of [
  ['the log', 20_000],
  ['the data file', 700_000],
] as const) {
  test(`when ${what} meets a full disk nothing acknowledged is lost, and writing goes on when there is space`, async (context) => {
    const disk = smallDisk(context, diskBytes);
    if (disk === undefined) return context.skip('no file system can be mounted here');
    // The binding says so when a write of LMDB fails.
    const complaints = context.mock.method(console, 'error', () => {});
    const directory = join(disk, 'Orders');
    mkdirSync(directory);
    const ballast = [join(disk, 'first'), join(disk, 'second')] as const;
    for (const path of ballast) writeFileSync(path, new Uint8Array(diskBytes / 4));
    const engine = openEngine(directory, { timers, mapSizeBytes: 2 ** 28 });
    const client = new Client(engine);
    for (let round = 0; round < 2; round += 1) {
      const error = await fill(client, bytes);
      // A checkpoint may have met it before: then the change was not begun.
      assert.match(
        `${error.code} ${error.message}`,
        /^(Internal .*'Orders' failed, it takes changes again when|Busy .*'Orders'.*nothing was)/,
      );
      assert.ok(error.message.includes(`'${directory}`), error.message);
      client.requireContents(engine);
      for (let count = 0; count < 5; count += 1) {
        const refusal = await client.commit(10);
        if (refusal === undefined) continue;
        assert.equal(refusal.code, 'Busy');
        assert.match(refusal.message, /'Orders'.*is full; nothing was committed/);
      }
      client.requireContents(engine);
      if (round === 0) rmSync(ballast[0]);
      else break;
      await goOn(client, bytes);
      assert.equal(await client.commit(10), undefined);
      client.requireContents(engine);
    }
    await engine.close();
    // It opens on the full disk, too.
    let again = openEngine(directory, { timers, mapSizeBytes: 2 ** 28 });
    client.requireContents(again);
    rmSync(ballast[1]);
    const other = new Client(again, client);
    await goOn(other, bytes);
    await again.close();
    again = openEngine(directory, { timers, mapSizeBytes: 2 ** 28 });
    other.requireContents(again);
    await again.close();
    assert.equal(complaints.mock.callCount(), 0, 'LMDB is not given what the disk has no room for');
  });
}
