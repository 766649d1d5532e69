import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  write,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LogIndex } from '#core/value/rid.ts';
import { CommitLog } from '#storage/log/commit-log.ts';
import type { LogRecord } from '#storage/log/segment.ts';
import { temporaryDirectory } from './engine-fixture.ts';

// Goal: whatever a power loss leaves of the log, what was acknowledged comes back and the log goes on. Method: a history is cut off
// inside one of its writes; of that write any sectors are on the disk, of the files that were removed or renamed since the directory
// was flushed any are back, and LMDB holds any state from the last checkpoint on.

const sectorBytes = 512;

type Step =
  | { readonly kind: 'append'; readonly sizes: readonly number[] }
  | { readonly kind: 'checkpoint'; readonly back: number }
  | { readonly kind: 'image' }
  | { readonly kind: 'reopen' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      sizes: fc.array(fc.oneof(fc.nat(40), fc.nat(1400)), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('checkpoint' as const), back: fc.nat(5) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'image' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
);

function record(index: number, size: number): LogRecord {
  return { index: index as LogIndex, term: 1, payload: Buffer.alloc(size, index) };
}

type Files = ReadonlyMap<string, Buffer>;

function filesIn(directory: string): Files {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return new Map(names.map((name) => [name, readFileSync(join(directory, name))]));
}

/** A log whose disk can be photographed as a power loss during a write would leave it. */
class WatchedLog {
  readonly directory: string;
  log: CommitLog;
  /** Acknowledged entries that went through the log, in order. */
  readonly entries: number[] = [];
  last = 0;
  /** What LMDB holds at least. */
  applied = 0;
  /** Chooses among what may be on the disk; undefined: everything. */
  lottery: (() => boolean) | undefined;
  photo: Files | undefined;
  /** As the directory was when it was flushed for the last time. */
  #flushed: Files = new Map();

  constructor(directory: string) {
    this.directory = directory;
    mkdirSync(directory);
    this.log = this.#open();
  }

  #open(): CommitLog {
    return new CommitLog(this.directory, this.applied as LogIndex, {
      segmentBytes: 4096,
      write: ((
        fd: number,
        bytes: Buffer,
        from: number,
        length: number,
        at: number,
        done: never,
      ) => {
        const now = filesIn(join(this.directory, 'commit-log'));
        if (at === 0) this.#flushed = now;
        if (this.lottery) this.photo = this.#lost(now, bytes.subarray(from, from + length), at);
        write(fd, bytes, from, length, at, done);
      }) as typeof write,
    });
  }

  #lost(now: Files, written: Buffer, at: number): Files {
    const lottery = this.lottery as () => boolean;
    const files = new Map(now);
    for (const [name, content] of this.#flushed)
      if (!files.has(name) && lottery()) files.set(name, content);
    const active = [...now.keys()]
      .filter((name) => !name.includes('spare'))
      .sort()
      .at(-1) as string;
    const bytes = Buffer.from(files.get(active) as Buffer);
    for (let sector = 0; sector < bytes.length; sector += sectorBytes) {
      const from = Math.max(sector, at);
      const to = Math.min(sector + sectorBytes, at + written.length);
      if (from < to && lottery()) written.copy(bytes, from, from - at, to - at);
    }
    return files.set(active, bytes);
  }

  async perform(one: Step): Promise<void> {
    if (one.kind === 'append') {
      const first = this.last + 1;
      await this.log.append(one.sizes.map((size, i) => record(first + i, size)));
      for (const _ of one.sizes) this.entries.push(++this.last);
    } else if (one.kind === 'checkpoint') {
      this.applied = Math.max(this.applied, this.last - one.back);
      this.log.checkpointed(this.applied as LogIndex);
    } else if (one.kind === 'image') {
      this.applied = ++this.last;
      this.log.checkpointed(this.applied as LogIndex);
      this.log.marker(this.applied as LogIndex);
    } else {
      await this.log.close();
      this.log = this.#open();
      this.log.recover();
    }
  }
}

function found(directory: string, applied: number): { log: CommitLog; indexes: number[] } {
  const log = new CommitLog(directory, applied as LogIndex, { segmentBytes: 4096 });
  const indexes = log.recover().map(({ index, payload }) => {
    assert.ok(payload.every((byte) => byte === (index & 255)));
    return Number(index);
  });
  return { log, indexes };
}

test('whatever sectors and names a power loss leaves, what was acknowledged comes back', async (context) => {
  const root = temporaryDirectory(context);
  let number = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.array(fc.nat(1400), { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.boolean()),
      fc.nat(8),
      async (steps, sizes, lottery, back) => {
        const live = new WatchedLog(join(root, `${number++}`));
        for (const one of steps) await live.perform(one);
        const { applied, entries } = live;
        const acknowledged = [...entries];
        const last = live.last;
        live.lottery = () => lottery.next().value as boolean;
        await live.perform({ kind: 'append', sizes });
        await live.log.close();
        const crashed = join(root, `${number++}`);
        mkdirSync(join(crashed, 'commit-log'), { recursive: true });
        for (const [name, bytes] of live.photo as Files)
          writeFileSync(join(crashed, 'commit-log', name), bytes);
        const carried = Math.max(applied, last - back);
        const expected = acknowledged.filter((index) => index > carried);
        const { log, indexes } = found(crashed, carried);
        assert.deepEqual(indexes.slice(0, expected.length), expected);
        const torn = sizes.map((_, i) => last + 1 + i);
        assert.deepEqual(
          indexes.slice(expected.length),
          torn.slice(0, indexes.length - expected.length),
        );
        // It goes on behind what it found, and is read again.
        const next = Math.max(carried, indexes.at(-1) ?? 0) + 1;
        await log.append([record(next, 30)]);
        const copy = join(root, `${number++}`);
        cpSync(crashed, copy, { recursive: true });
        assert.deepEqual(found(copy, carried).indexes, [...indexes, next]);
        await log.close();
      },
    ),
    { numRuns: Number(process.env['RUNS'] ?? 60) },
  );
});
