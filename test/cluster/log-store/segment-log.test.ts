import assert from 'node:assert/strict';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SegmentLog } from '#cluster/log-store/segment-log.ts';
import type { Entry, HardState } from '#raft/vocabulary.ts';
import { seeded } from '../../raft/support/random.ts';

const storageId = '6b1f0c52-8a70-4c3f-9d5e-0123456789ab';
const segmentBytes = 64 * 1024;

function entry(index: number, term: number, size = 20): Entry {
  return {
    index,
    term,
    kind: index % 7 === 0 ? 'conf' : 'normal',
    data: Buffer.alloc(size, index),
  };
}

function open(directory: string, after = { index: 0, term: 0 }) {
  const options = { directory, storageId, segmentBytes, newestBytesMax: 1e9 };
  return SegmentLog.open({ ...options, after });
}

function temporary(): string {
  return mkdtempSync(join(tmpdir(), 'polyad-raft-log-'));
}

test('random appends, overwrites, purges and restarts equal a list', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = seeded(seed);
    const directory = temporary();
    let { log } = open(directory);
    let model: Entry[] = [];
    let before = 0;
    let beforeTerm = 0;
    let term = 1;
    let hardState: HardState = { term: 0, vote: null, commit: 0 };
    for (let step = 0; step < 80; step++) {
      const choice = random(10);
      if (choice < 7) {
        if (random(4) === 0) term += 1;
        const last = before + model.length;
        const first = Math.max(before + 1, last + 1 - (random(4) === 0 ? random(6) : 0));
        const entries = Array.from({ length: 1 + random(5) }, (_, i) =>
          entry(first + i, term, random(4000)),
        );
        model = [...model.slice(0, first - before - 1), ...entries];
        if (random(2) === 0) hardState = { term, vote: `n${random(3)}`, commit: before };
        log.append({ entries, hardState: random(2) === 0 ? hardState : undefined, mustSync: true });
      } else if (choice < 8 && model.length > 3) {
        const to = before + random(model.length - 1);
        log.purgeTo(to);
        beforeTerm = model[to - before - 1]?.term ?? beforeTerm;
        model = model.slice(to - before);
        before = to;
      } else {
        log.close();
        const opened = open(directory, { index: before, term: beforeTerm });
        log = opened.log;
        const newest = opened.recovered.newest.filter(({ index }) => index > before);
        assert.deepEqual(newest, model.map(plain), `seed ${seed} step ${step}`);
        assert.deepEqual(
          opened.recovered.confEntries.map(({ index }) => index),
          model.filter(({ kind }) => kind === 'conf').map(({ index }) => index),
        );
      }
      const middle = model[Math.floor(model.length / 2)];
      if (middle !== undefined)
        assert.deepEqual(log.read(middle.index, middle.index + 1, 10), [plain(middle)]);
    }
    log.close();
    rmSync(directory, { recursive: true });
  }
});

test('a tail that the crash tore is cut off at every byte; whole writes before it stay', () => {
  const directory = temporary();
  const { log } = open(directory);
  log.append({
    entries: [entry(1, 1), entry(2, 1)],
    hardState: { term: 1, vote: 'n1', commit: 1 },
    mustSync: true,
  });
  log.close();
  const name = join(directory, readdirSync(directory)[0] as string);
  const whole = readFileSync(name);
  const end = whole.findLastIndex((byte) => byte !== 0) + 1;
  for (let cut = 64; cut < end; cut++) {
    const torn = Buffer.from(whole);
    torn.fill(0, cut);
    writeFileSync(name, torn);
    const { log: again, recovered } = open(directory);
    assert.ok(recovered.newest.length <= 2);
    again.append({
      entries: [entry(recovered.newest.length + 1, 2)],
      hardState: undefined,
      mustSync: true,
    });
    again.close();
    const third = open(directory);
    assert.equal(third.recovered.newest.at(-1)?.term, 2);
    third.log.close();
  }
  rmSync(directory, { recursive: true });
});

test('damage in a segment that is not the last one, and files of another storage, are refused', () => {
  const directory = temporary();
  const { log } = open(directory);
  for (let index = 1; index <= 40; index++)
    log.append({ entries: [entry(index, 1, 4000)], hardState: undefined, mustSync: true });
  log.close();
  const names = readdirSync(directory).sort();
  assert.ok(names.length > 1);
  const first = join(directory, names[0] as string);
  const whole = readFileSync(first);
  const damaged = Buffer.from(whole);
  damaged.writeUInt8(damaged.readUInt8(5000) ^ 1, 5000);
  writeFileSync(first, damaged);
  assert.throws(() => open(directory), /is damaged at byte/);
  writeFileSync(first, whole);
  truncateSync(first, 10);
  assert.throws(() => open(directory), /too short/);
  writeFileSync(first, whole);
  const other = '00000000-0000-4000-8000-000000000000';
  assert.throws(
    () =>
      SegmentLog.open({
        directory,
        storageId: other,
        after: { index: 0, term: 0 },
        segmentBytes,
        newestBytesMax: 1e9,
      }),
    /another storage/,
  );
  rmSync(directory, { recursive: true });
});

function plain({ index, term, kind, data }: Entry): Entry {
  return { index, term, kind, data: Uint8Array.from(data) };
}
