import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  write,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LogIndex } from '#core/value/rid.ts';
import { CommitLog, type CommitLogOptions } from '#storage/log/commit-log.ts';
import { type LogRecord, recordSize, segmentHeaderSize } from '#storage/log/segment.ts';
import { temporaryDirectory } from './engine-fixture.ts';

function record(index: number, size = index % 50): LogRecord {
  return { index: index as LogIndex, term: 1, payload: Buffer.alloc(size, index) };
}

function open(directory: string, applied = 0, options: CommitLogOptions = {}): CommitLog {
  return new CommitLog(directory, applied as LogIndex, options);
}

function indexesIn(directory: string, applied = 0): number[] {
  return open(directory, applied)
    .recover()
    .map(({ index, payload }) => {
      assert.ok(payload.every((byte) => byte === (index & 255)));
      return index;
    });
}

/** Leaves the log as a power loss would: nothing is closed or removed. */
async function writeGroups(directory: string, ...groups: readonly number[][]): Promise<CommitLog> {
  const log = open(directory);
  for (const group of groups) await log.append(group.map((index) => record(index)));
  return log;
}

function segmentPaths(directory: string): string[] {
  const log = join(directory, 'commit-log');
  return readdirSync(log)
    .filter((name) => /^seg-[0-9a-f]{16}\.log$/.test(name))
    .sort()
    .map((name) => join(log, name));
}

test('entries behind the applied position come back, in order; none after a close that covers them', async (context) => {
  const directory = temporaryDirectory(context);
  const log = await writeGroups(directory, [1, 2, 3], [4], [5, 6]);
  assert.equal(log.writeCount, 3);
  assert.deepEqual(indexesIn(directory), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(indexesIn(directory, 4), [5, 6]);
  log.checkpointed(6 as LogIndex);
  await log.close();
  assert.deepEqual(readdirSync(join(directory, 'commit-log')), []);
  assert.deepEqual(indexesIn(directory, 6), []);
});

test('a log that is closed before a checkpoint keeps its entries, and goes on behind them', async (context) => {
  const directory = temporaryDirectory(context);
  await (await writeGroups(directory, [1, 2])).close();
  const again = open(directory);
  assert.equal(again.recover().length, 2);
  await again.append([record(3)]);
  await again.append([record(4)]);
  await again.close();
  assert.deepEqual(indexesIn(directory), [1, 2, 3, 4]);
  assert.equal(segmentPaths(directory).length, 2);
});

test('a write that is torn at any byte leaves the entries before it, and the log goes on', async (context) => {
  const directory = temporaryDirectory(context);
  const log = await writeGroups(directory, [1, 2], [7, 8]);
  await log.close();
  const [path] = segmentPaths(directory) as [string];
  const whole = readFileSync(path);
  const start = segmentHeaderSize + recordSize(1) + recordSize(2);
  const end = start + recordSize(7) + recordSize(8);
  for (let cut = start; cut < end; cut++) {
    const torn = Buffer.from(whole);
    torn.fill(0, cut, end);
    if (torn.equals(whole)) continue;
    writeFileSync(path, torn);
    const expected = cut < start + recordSize(7) - 1 ? [1, 2] : [1, 2, 7];
    const found = indexesIn(directory);
    assert.ok(found.length <= expected.length, `cut at ${cut}`);
    assert.deepEqual(found.slice(0, 2), [1, 2]);
    // What was cut off stays away.
    assert.deepEqual(indexesIn(directory), found);
  }
  writeFileSync(path, whole);
  assert.deepEqual(indexesIn(directory), [1, 2, 7, 8]);
});

test('later parts of a torn write do not make it damage', async (context) => {
  const directory = temporaryDirectory(context);
  await (await writeGroups(directory, [1], [2, 3, 4])).close();
  const [path] = segmentPaths(directory) as [string];
  const bytes = readFileSync(path);
  bytes.fill(
    0,
    segmentHeaderSize + recordSize(1),
    segmentHeaderSize + recordSize(1) + recordSize(2),
  );
  writeFileSync(path, bytes);
  assert.deepEqual(indexesIn(directory), [1]);
});

test('a flipped byte before an acknowledged write is refused wherever it is', async (context) => {
  const directory = temporaryDirectory(context);
  await (await writeGroups(directory, [1, 2], [3], [40])).close();
  const [path] = segmentPaths(directory) as [string];
  const whole = readFileSync(path);
  const lastWrite = segmentHeaderSize + recordSize(1) + recordSize(2) + recordSize(3);
  for (let at = 0; at < lastWrite; at++) {
    if (isPadding(at)) continue;
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] as number) ^ 0x10;
    writeFileSync(path, bytes);
    assert.throws(() => open(directory), { code: 'CorruptedRecord' }, `byte ${at}`);
  }
  for (let at = lastWrite; at < lastWrite + 32 + 40; at++) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] as number) ^ 0x10;
    writeFileSync(path, bytes);
    assert.deepEqual(indexesIn(directory), [1, 2, 3], `byte ${at}`);
  }

  /** Bytes behind a payload mean nothing. */
  function isPadding(at: number): boolean {
    let start = segmentHeaderSize;
    for (const index of [1, 2, 3]) {
      const end = start + recordSize(index);
      if (at >= start + 32 + index && at < end) return true;
      start = end;
    }
    return false;
  }
});

test('segments follow each other, are used again after checkpoints, and none may be missing', async (context) => {
  const directory = temporaryDirectory(context);
  const log = open(directory, 0, { segmentBytes: 4096 });
  for (let index = 1; index <= 200; index++) {
    await log.append([record(index, 300)]);
    if (index === 150) log.checkpointed(100 as LogIndex);
  }
  await log.close();
  assert.deepEqual(
    indexesIn(directory, 100),
    Array.from({ length: 100 }, (_, i) => 101 + i),
  );
  const paths = segmentPaths(directory);
  assert.ok(paths.length < 15, `${paths.length} segments`);
  assert.throws(() => open(directory, 50), { code: 'CorruptedRecord', message: /follows entry/ });
  const kept = readFileSync(paths[3] as string);
  rmSync(paths[3] as string);
  assert.throws(() => open(directory, 100), { code: 'CorruptedRecord', message: /missing/ });
  writeFileSync(paths[3] as string, kept);
  assert.equal(indexesIn(directory, 100).length, 100);
});

test('a data file from before an image that was never in the log is refused', async (context) => {
  const directory = temporaryDirectory(context);
  const log = await writeGroups(directory, [1, 2]);
  log.marker(5 as LogIndex);
  await log.append([record(6)]);
  await log.close();
  assert.deepEqual(indexesIn(directory, 5), [6]);
  assert.throws(() => open(directory, 2), { code: 'CorruptedRecord', message: /older copy/ });
});

test('so it is when the server ended before the log had told of that image', async (context) => {
  const directory = temporaryDirectory(context);
  await (await writeGroups(directory, [1, 2])).close();
  const log = open(directory, 5);
  await log.append([record(6)]);
  await log.close();
  assert.deepEqual(indexesIn(directory, 5), [6]);
  assert.throws(() => open(directory, 2), { code: 'CorruptedRecord', message: /older copy/ });
});

test('a segment that was named and never written may have others behind it, which go on where it began', async (context) => {
  const directory = temporaryDirectory(context);
  await (await writeGroups(directory, [1, 2])).close();
  const again = open(directory);
  await again.append([record(4)]);
  await again.close();
  const between = join(directory, 'commit-log', 'seg-0000000000000003.log');
  writeFileSync(between, Buffer.alloc(4096));
  assert.deepEqual(indexesIn(directory), [1, 2, 4]);
  assert.ok(!existsSync(between));
  const [first] = segmentPaths(directory) as [string];
  writeFileSync(first, Buffer.alloc(4096));
  assert.throws(() => open(directory), { code: 'CorruptedRecord', message: /damaged header/ });
});

test('segments whose entries are in LMDB may be removed in any order', async (context) => {
  const directory = temporaryDirectory(context);
  const log = open(directory, 0, { segmentBytes: 4096 });
  for (let index = 1; index <= 40; index++) await log.append([record(index, 300)]);
  await log.close();
  const [, second] = segmentPaths(directory) as [string, string];
  rmSync(second);
  assert.deepEqual(indexesIn(directory, 35), [36, 37, 38, 39, 40]);
  assert.throws(() => open(directory, 12), { code: 'CorruptedRecord', message: /missing/ });
});

test('a copy of an older write behind the last one is no later write', async (context) => {
  const directory = temporaryDirectory(context);
  await (await writeGroups(directory, [1], [2])).close();
  const [path] = segmentPaths(directory) as [string];
  const bytes = readFileSync(path);
  const end = segmentHeaderSize + recordSize(1) + recordSize(2);
  bytes.copy(bytes, end + 8, segmentHeaderSize, end);
  writeFileSync(path, bytes);
  assert.deepEqual(indexesIn(directory), [1, 2]);
});

test('a segment that was named and not written yet is passed over', async (context) => {
  const directory = temporaryDirectory(context);
  await (await writeGroups(directory, [1, 2])).close();
  const [first] = segmentPaths(directory) as [string];
  const next = join(directory, 'commit-log', 'seg-0000000000000003.log');
  for (const content of [Buffer.alloc(4096), readFileSync(first), Buffer.alloc(0)]) {
    writeFileSync(next, content);
    assert.deepEqual(indexesIn(directory), [1, 2]);
  }
});

interface ScarceDisk {
  /** Bytes that may still be written; then writes fail. */
  room: number;
  readonly write: typeof write;
}

/** Writes at most 100 bytes at a time, as long as there is room. */
function scarceDisk(room: number, code: 'EIO' | 'ENOSPC'): ScarceDisk {
  const disk = {
    room,
    write: ((
      fd: number,
      bytes: Buffer,
      from: number,
      length: number,
      at: number,
      done: (error: Error | null, count: number, bytes: Buffer) => void,
    ) => {
      const count = Math.min(length, 100, disk.room);
      disk.room -= count;
      if (count > 0) write(fd, bytes, from, count, at, done);
      else done(Object.assign(new Error(`${code}: write failed`), { code }), 0, bytes);
    }) as typeof write,
  };
  return disk;
}

test('after a failed write nothing is appended any more, and short writes are continued', async (context) => {
  const directory = temporaryDirectory(context);
  const disk = scarceDisk(1000, 'EIO');
  const log = open(directory, 0, { write: disk.write });
  await log.append([record(1, 400)]);
  await assert.rejects(log.append([record(2, 900)]), { code: 'Internal', message: /EIO/ });
  disk.room = 1e6;
  await assert.rejects(log.append([record(3)]), { code: 'Internal', message: /opened again/ });
  await assert.rejects(log.mend(), { code: 'Internal', message: /opened again/ });
  await log.close();
  assert.deepEqual(indexesIn(directory), [1]);
});

test('after a full disk at any byte of any write the log goes on without what failed', async (context) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          sizes: fc.array(fc.nat(700), { minLength: 1, maxLength: 4 }),
          room: fc.option(fc.nat(1500), { nil: undefined }),
          isMendedFirst: fc.boolean(),
        }),
        { maxLength: 12 },
      ),
      async (steps) => {
        const directory = temporaryDirectory(context);
        const disk = scarceDisk(1e9, 'ENOSPC');
        const log = open(directory, 0, { write: disk.write, segmentBytes: 4096 });
        let last = 0;
        for (const { sizes, room, isMendedFirst } of steps) {
          disk.room = room ?? 1e9;
          const records = sizes.map((size, at) => record(last + 1 + at, size));
          const isWritten = await log.append(records).then(
            () => true,
            () => false,
          );
          if (isWritten) last += sizes.length;
          else if (isMendedFirst) await log.mend();
          // As a power loss would leave it now.
          const copy = temporaryDirectory(context);
          if (existsSync(join(directory, 'commit-log')))
            cpSync(join(directory, 'commit-log'), join(copy, 'commit-log'), { recursive: true });
          const found = indexesIn(copy);
          const known = Array.from({ length: last }, (_, at) => at + 1);
          assert.deepEqual(found.slice(0, last), known);
          if (isWritten || isMendedFirst) assert.equal(found.length, last);
          else assert.ok(found.length <= last + sizes.length);
          if (!isWritten && !isMendedFirst) await log.mend();
        }
        disk.room = 1e9;
        await log.append([record(last + 1)]);
        await log.close();
        assert.equal(indexesIn(directory).length, last + 1);
      },
    ),
    { numRuns: 60 },
  );
});

test('a directory that cannot be written refuses the commit and stays readable', async (context) => {
  const directory = temporaryDirectory(context);
  writeFileSync(join(directory, 'commit-log.part'), '');
  const log = open(join(directory, 'gone'));
  mkdirSync(join(directory, 'gone'));
  writeFileSync(join(directory, 'gone', 'commit-log'), 'a file in the way');
  await assert.rejects(log.append([record(1)]), { code: 'Internal' });
  await log.close();
});

test('a segment that cannot get its name refuses the commit, and the next start has what was acknowledged', async (context) => {
  const directory = temporaryDirectory(context);
  const log = open(directory, 0, { segmentBytes: 4096 });
  for (let index = 1; index <= 3; index++) await log.append([record(index, 1000)]);
  const inTheWay = join(directory, 'commit-log', 'seg-0000000000000004.log');
  mkdirSync(inTheWay);
  await assert.rejects(log.append([record(4, 1000)]), {
    code: 'Internal',
    message: /opened again/,
  });
  await assert.rejects(log.append([record(4, 10)]), { code: 'Internal' });
  await log.close();
  rmSync(inTheWay, { recursive: true });
  const again = open(directory);
  assert.equal(again.recover().length, 3);
  await again.append([record(4)]);
  await again.close();
  assert.deepEqual(indexesIn(directory), [1, 2, 3, 4]);
});

test('any sequence of groups, checkpoints and reopenings gives back what was appended', async (context) => {
  const directory = temporaryDirectory(context);
  let number = 0;
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('append' as const),
      sizes: fc.array(fc.nat(700), { minLength: 1, maxLength: 6 }),
    }),
    fc.record({ kind: fc.constant('checkpoint' as const), back: fc.nat(5) }),
    fc.record({ kind: fc.constant('reopen' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const path = join(directory, `${number++}`);
      mkdirSync(path);
      let log = open(path, 0, { segmentBytes: 4096 });
      let last = 0;
      let applied = 0;
      for (const action of steps) {
        if (action.kind === 'append') {
          await log.append(action.sizes.map((size) => record(++last, size)));
        } else if (action.kind === 'checkpoint') {
          applied = Math.max(applied, last - action.back);
          log.checkpointed(applied as LogIndex);
        } else {
          await log.close();
          log = open(path, applied, { segmentBytes: 4096 });
          const found = log.recover().map(({ index }) => index);
          assert.deepEqual(
            found,
            Array.from({ length: last - applied }, (_, i) => applied + 1 + i),
          );
        }
      }
      await log.close();
    }),
    { numRuns: 40 },
  );
});
