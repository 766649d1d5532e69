import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { open } from 'lmdb';
import { EnvironmentUse, requireSoundEnvironment } from '#storage/environment/use.ts';
import { walkEnvironment } from '#storage/environment/walk.ts';
import { mulberry32 } from '../bench/spine/data.ts';
import { Log, openEngine, person, put, temporaryDirectory, turnTimers } from './engine-fixture.ts';

// The trees of LMDB are looked at before LMDB maps them: what it would believe and die of is refused, and whatever LMDB itself
// wrote is accepted.

const pageSize = 4096;
const storeNames = ['meta', 'blk', 'adj', 'ix'];

const bytes = { encoding: 'binary', keyEncoding: 'binary' } as const;

/** An environment as the engine opens it, without an engine. */
function openRaw(directory: string) {
  const root = open({
    path: directory,
    noSubdir: false,
    overlappingSync: false,
    eventTurnBatching: false,
    pageSize,
    maxDbs: 32,
    ...bytes,
  });
  const stores = storeNames.map((name) => root.openDB<Buffer, Buffer>({ name, ...bytes }));
  return { root, stores };
}

test('whatever LMDB wrote is accepted: small and large values, removals, readers of old states', async (context) => {
  for (const seed of [1, 2, 3]) {
    const random = mulberry32(seed);
    const below = (bound: number) => Math.floor(random() * bound);
    const directory = temporaryDirectory(context);
    const { root, stores } = openRaw(directory);
    const readers: { done(): void }[] = [];
    for (let round = 0; round < 30; round += 1) {
      root.transactionSync(() => {
        for (let n = below(200); n >= 0; n -= 1) {
          const store = stores[below(stores.length)];
          const key = Buffer.alloc(4 + below(60));
          key.writeUInt32BE(below(500));
          const size = below(3) === 0 ? below(20_000) : below(300);
          if (below(3) === 0) store?.removeSync(key);
          else store?.putSync(key, Buffer.alloc(size, 1));
        }
      });
      if (below(5) === 0) readers.push(root.useReadTransaction());
      if (readers.length > 3) readers.shift()?.done();
      await walkEnvironment(directory, turnTimers);
    }
    for (const reader of readers) reader.done();
    await root.close();
    const { treePages } = await walkEnvironment(directory, turnTimers);
    assert.ok(treePages > stores.length);
  }
});

/** A closed environment with two levels, values outside of the tree and free pages; as bytes, to be changed. */
async function filled(context: TestContext) {
  const directory = temporaryDirectory(context);
  const { root, stores } = openRaw(directory);
  const [meta, blk] = stores;
  for (const from of [0, 1000])
    root.transactionSync(() => {
      for (let n = from; n < from + 1000; n += 1)
        meta?.putSync(Buffer.from(`key ${n}`), Buffer.alloc(40));
      for (let n = 0; n < 20; n += 1)
        blk?.putSync(Buffer.from(`key ${n}`), Buffer.alloc(9_000 + from));
    });
  await root.close();
  const path = join(directory, 'data.mdb');
  const intact = readFileSync(path);
  await walkEnvironment(directory, turnTimers);
  const at = newerMeta(intact);
  const lastPage = Number(intact.readBigUInt64LE(at + 24 + 120));
  return {
    directory,
    intact,
    at,
    free: Number(intact.readBigUInt64LE(at + 24 + 64)),
    main: Number(intact.readBigUInt64LE(at + 24 + 112)),
    lastPage,
    tree: (name: string) => Number(intact.readBigUInt64LE(recordOf(intact, at, name) + 40)),
    record: (name: string) => recordOf(intact, at, name),
    /** @returns the refusal of the file after `change` */
    refusal: async (change: (file: Buffer) => void): Promise<string> => {
      const file = Buffer.from(intact);
      change(file);
      writeFileSync(path, file);
      const walk = walkEnvironment(directory, turnTimers);
      const error = await walk.then(
        () => undefined,
        (reason: unknown) => reason as { code: string; message: string },
      );
      if (error !== undefined) assert.equal(error.code, 'CorruptedRecord');
      return error?.message ?? 'accepted';
    },
  };
}

function newerMeta(file: Buffer): number {
  const first = file.readBigUInt64LE(24 + 128);
  return first > file.readBigUInt64LE(pageSize + 24 + 128) ? 0 : pageSize;
}

/** Where the record of a named tree lies: behind its name in the leaf of the main tree. */
function recordOf(file: Buffer, meta: number, name: string): number {
  const main = Number(file.readBigUInt64LE(meta + 24 + 112)) * pageSize;
  return (
    file.indexOf(name, main) +
    name.length +
    (file[file.indexOf(name, main) + name.length] === 0 ? 1 : 0)
  );
}

test('damage of the trees is refused by the page where it is', async (context) => {
  const { at, free, main, tree, record, lastPage, refusal } = await filled(context);
  const root = tree('meta');
  const page = root * pageSize;
  const cases: readonly [RegExp, (file: Buffer) => void][] = [
    [
      /page \d+ of 'data.mdb': it bears another number/,
      (file) => void file.fill(0, page, page + pageSize),
    ],
    [/its flags are 66/, (file) => void file.writeUInt8(0x42, page + 18)],
    [/never was/, (file) => void file.writeUInt32LE(0x7fff_ffff, page + 8)],
    [/its bounds are/, (file) => void file.writeUInt16LE(5000, page + 20)],
    [/entry 1 starts at/, (file) => void file.writeUInt16LE(4090, page + 26)],
    [/entry 1 is there twice/, (file) => void file.copyWithin(page + 26, page + 24, page + 26)],
    [
      /entry/,
      (file) => void file.writeUInt16LE(0x7ff0, page + 24 + file.readUInt16LE(page + 26) + 6),
    ],
    [
      /does not exist/,
      (file) => void file.writeUInt32LE(lastPage + 1, page + 24 + file.readUInt16LE(page + 26)),
    ],
    [
      /used twice/,
      (file) => void file.writeUInt32LE(main, page + 24 + file.readUInt16LE(page + 26)),
    ],
    [/should have entries 2001/, (file) => void file.writeUInt32LE(2001, record('meta') + 32)],
    [/too deep|uneven/, (file) => void file.writeUInt16LE(1, record('meta') + 6)],
    [/flags of tree/, (file) => void file.writeUInt16LE(4, record('meta') + 4)],
    [/numbers cannot be/, (file) => void file.writeUInt32LE(1, at + 24 + 8)],
    [/numbers cannot be/, (file) => void file.writeUInt32LE(0x40_0000, at + 24 + 16 + 4)],
    [/numbers cannot be/, (file) => void file.writeUInt32LE(999, at + 24 + 128)],
    [/cannot be free/, (file) => void putFreePage(file, free, main)],
    [/too long/, (file) => void file.writeUInt32LE(60_000, freeListOf(file, free))],
  ];
  for (const [message, change] of cases) assert.match(await refusal(change), message);
  assert.equal(await refusal(() => {}), 'accepted');
});

/** Where the first list of free pages stands, in the leaf of the tree of free pages. */
function freeListOf(file: Buffer, free: number): number {
  const page = free * pageSize;
  return page + 24 + file.readUInt16LE(page + 24) + 8 + 8;
}

function putFreePage(file: Buffer, free: number, page: number): void {
  file.writeBigInt64LE(
    BigInt(page),
    freeListOf(file, free) + 8 * Number(file.readBigInt64LE(freeListOf(file, free))),
  );
}

test('the header of a value outside of its leaf is put right from what the leaf says', async (context) => {
  const { directory, intact } = await filled(context);
  const path = join(directory, 'data.mdb');
  const last = intact.length / pageSize;
  // First pages of values: their number, flags and how many pages they are.
  const runs = Array.from({ length: last }, (_, page) => page * pageSize).filter(
    (at) => intact.readUInt32LE(at) === at / pageSize && intact.readUInt16LE(at + 18) === 4,
  );
  assert.ok(runs.length >= 20);
  const file = Buffer.from(intact);
  for (const at of runs) file.writeUInt32LE(0xffff, at + 20);
  writeFileSync(path, file);
  const { putRight } = await walkEnvironment(directory, turnTimers);
  assert.equal(putRight, 20);
  assert.equal((await walkEnvironment(directory, turnTimers)).putRight, 0);
  const { root, stores } = openRaw(directory);
  root.transactionSync(() => {
    for (let n = 0; n < 20; n += 1) stores[1]?.removeSync(Buffer.from(`key ${n}`));
  });
  await root.close();
  await walkEnvironment(directory, turnTimers);
});

test('a file that is refused is left as it is', async (context) => {
  const { directory, intact, tree, refusal } = await filled(context);
  const leaf = tree('blk') * pageSize;
  const meta = tree('meta');
  // A value of the one tree is said to lie where the other tree begins.
  const message = await refusal((file) => {
    const reference = Buffer.alloc(8);
    for (let page = 2; page < intact.length / pageSize; page += 1) {
      reference.writeBigUInt64LE(BigInt(page));
      const at = file.indexOf(reference, leaf);
      const isThere = intact.readUInt16LE(page * pageSize + 18) === 4 && at < leaf + pageSize;
      if (at < 0 || !isThere) continue;
      file.writeBigUInt64LE(BigInt(meta), at);
      return;
    }
    assert.fail('no value lies outside');
  });
  assert.match(message, /is used twice/);
  const file = readFileSync(join(directory, 'data.mdb'));
  const at = meta * pageSize;
  assert.ok(file.subarray(at, at + pageSize).equals(intact.subarray(at, at + pageSize)));
});

test('any page of a tree may be lost or overwritten, and LMDB does not see it', async (context) => {
  const { refusal, tree, free, main } = await filled(context);
  const random = mulberry32(7);
  for (const page of [free, main, tree('meta'), tree('blk')])
    for (let round = 0; round < 5; round += 1) {
      const noise = Buffer.from(Array.from({ length: pageSize }, () => Math.floor(random() * 256)));
      assert.match(await refusal((file) => void noise.copy(file, page * pageSize)), /is damaged/);
    }
});

async function used(context: TestContext) {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  await new Log(engine).commit(put(engine, person(1), { name: 'a' }));
  await engine.close();
  const looks: string[] = [];
  const look = async () => {
    looks.length = 0;
    await requireSoundEnvironment(directory, {
      timers: turnTimers,
      walked: (why) => looks.push(why),
    });
    return looks[0];
  };
  return { directory, look };
}

test('a file as the server left it is not looked at; any other is, once', async (context) => {
  const { directory, look } = await used(context);
  const path = join(directory, 'data.mdb');
  assert.equal(await look(), undefined);
  utimesSync(path, 1, 1);
  assert.match((await look()) ?? '', /not as the server left it/);
  assert.equal(await look(), undefined);
  appendFileSync(path, Buffer.alloc(pageSize));
  assert.match((await look()) ?? '', /not as the server left it/);
  writeFileSync(join(directory, 'last-use.json'), '{');
  assert.match((await look()) ?? '', /nothing is known/);
  assert.equal(await look(), undefined);
});

test('a database is opened also where nothing can be written about its use', async (context) => {
  const { directory, look } = await used(context);
  rmSync(join(directory, 'last-use.json'));
  mkdirSync(join(directory, 'last-use.json'));
  const engine = openEngine(directory);
  await engine.close();
  assert.match((await look()) ?? '', /nothing is known/);
});

test('a server that died soon after it opened a database, or twice with it open, looks at it', async (context) => {
  const { directory, look } = await used(context);
  // What a killed process leaves: nobody writes that it was closed.
  const die = (isSettled: boolean) => {
    const use = new EnvironmentUse(directory);
    use.opened({
      after: (_delayMs, run) => {
        if (isSettled) run();
        return () => {};
      },
    });
    use.close(false);
  };
  die(false);
  assert.match((await look()) ?? '', /soon after/);
  die(true);
  assert.equal(await look(), undefined);
  die(true);
  assert.match((await look()) ?? '', /twice in a row/);
  die(true);
  assert.equal(await look(), undefined);
  const use = new EnvironmentUse(directory);
  use.close();
  die(true);
  assert.equal(await look(), undefined);
});
