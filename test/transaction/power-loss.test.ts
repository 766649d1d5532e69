import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogEntry, StorageEngine } from '#storage/engine.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { openTestState } from './support/open-state.ts';

type Moment = 'entries' | 'commit';

/** Copies the files as a power loss would leave them, whenever something was promised. */
function photographed(
  directory: string,
  photos: string,
): {
  readonly taken: Moment[];
  begin(): void;
  wrap(engine: StorageEngine): StorageEngine;
} {
  const taken: Moment[] = [];
  let isOn = false;
  const take = (moment: Moment) => {
    if (!isOn) return;
    cpSync(directory, join(photos, String(taken.length)), { recursive: true });
    taken.push(moment);
  };
  return {
    taken,
    begin: () => {
      isOn = true;
    },
    wrap: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          if (name === 'addNewEntries') {
            return async (...args: Parameters<StorageEngine['addNewEntries']>) => {
              await target.addNewEntries(...args);
              isOn = true;
              take('entries');
            };
          }
          if (name === 'apply') {
            return async (entries: readonly LogEntry[]) => {
              await target.apply(entries);
              take('commit');
            };
          }
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
  };
}

test('after a power loss during an index build the index is whole or gone, and no record is lost', async (context) => {
  const root = mkdtempSync(join(tmpdir(), 'polyad-transaction-'));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, 'live');
  const camera = photographed(directory, root);
  const count = 1000;
  const db = await openTestState({ directory, wrap: camera.wrap, indexBuildRound: 75 });
  await db.alter(type('vertex', 'V'), property('V.k', 'LONG'));
  const tx = db.state.begin('READ_COMMITTED');
  tx.beginStatement();
  for (let k = 0; k < count; k++) tx.insertVertex(db.typeId('V'), new Map([['k', k]]));
  await tx.commit();
  await db.alter(index('V', ['k'], { unique: true }));
  const after = db.state.begin('READ_COMMITTED');
  after.beginStatement();
  after.insertVertex(db.typeId('V'), new Map([['k', count]]));
  await after.commit();
  await db.close();
  assert.equal(camera.taken.filter((moment) => moment === 'entries').length, 4);
  assert.deepEqual(camera.taken.slice(-2), ['commit', 'commit']);
  for (let photo = 0; photo < camera.taken.length; photo++) {
    const again = await openTestState({ directory: join(root, String(photo)) });
    const [found] = again.state.catalog.indexes();
    const isReady = photo >= camera.taken.length - 2;
    assert.equal(found?.state, isReady ? 'READY' : undefined);
    using snapshot = again.engine.snapshot();
    const [bucket] = again.state.catalog.typeNamed('V')?.buckets ?? [];
    const expected = photo === camera.taken.length - 1 ? count + 1 : count;
    assert.equal(bucket === undefined ? -1 : snapshot.recordCount(bucket), expected);
    if (found !== undefined) assert.equal(snapshot.entryCount(found.id), expected);
    snapshot[Symbol.dispose]();
    await again.close();
  }
});

test('after a power loss during DROP TYPE the type has all of its records or is gone', async (context) => {
  const root = mkdtempSync(join(tmpdir(), 'polyad-transaction-'));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, 'live');
  const camera = photographed(directory, root);
  const db = await openTestState({ directory, wrap: camera.wrap });
  await db.alter(type('vertex', 'V'));
  const count = 1000;
  {
    using tx = db.state.begin('READ_COMMITTED');
    for (let n = 0; n < count; n += 1) tx.insertVertex(db.typeId('V'), new Map([['k', n]]));
    await tx.commit();
  }
  camera.begin();
  await db.alter({ kind: 'drop-type', name: 'V', ifExists: false, unsafe: true });
  await db.close();
  assert.ok(camera.taken.length > 4, 'the records went in several commits');
  for (let photo = 0; photo < camera.taken.length; photo += 1) {
    const after = await openTestState({ directory: join(root, String(photo)) });
    assert.equal(after.state.catalog.typeNamed('V'), undefined, `photo ${photo}`);
    assert.deepEqual(after.state.catalog.buckets(), []);
    await after.close();
  }
});
