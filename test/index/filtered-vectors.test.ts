import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rid } from '#core/value/rid.ts';
import { makeRid, parseRid } from '#core/value/rid.ts';
import { SlotTable } from '#index/vector/slot-table.ts';

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('a table of slots says what a map says', () => {
  const seed = 11;
  const random = seeded(seed);
  const rids = new Float64Array(40_000);
  const table = new SlotTable();
  const map = new Map<Rid, number>();
  let next = 0;
  for (let step = 0; step < 60_000; step += 1) {
    // Runs of positions of several buckets, and positions beyond 32 bits.
    const far = random() < 0.1 ? 2 ** 33 : 0;
    const rid = makeRid(Math.floor(random() * 5), Math.floor(random() * 9_000) + far);
    const old = map.get(rid);
    assert.equal(table.get(rid, rids), old ?? -1, `seed ${seed}, step ${step}`);
    if (old !== undefined) {
      table.delete(rid, rids);
      rids[old] = -1;
      map.delete(rid);
    } else if (next < rids.length) {
      rids[next] = rid;
      table.add(rid, next, rids);
      map.set(rid, next);
      next += 1;
    }
    assert.equal(table.size, map.size);
  }
  for (const [rid, slot] of map) assert.equal(table.get(rid, rids), slot);
  table.clear();
  for (const rid of map.keys()) assert.equal(table.get(rid, rids), -1);
});

test('record ids are read the same with and without a regular expression', () => {
  assert.equal(parseRid('#3:17'), makeRid(3, 17));
  assert.equal(parseRid('3:17'), makeRid(3, 17));
  assert.equal(parseRid('#0065535:00137438953471'), makeRid(65_535, 137_438_953_471));
  for (const none of ['#3', '#:1', '#3:', '#3:1x', '#3:1:2', ' #3:1', '', '#', ':']) {
    assert.equal(parseRid(none), undefined, none);
  }
  for (const beyond of ['#65536:0', '#-1:-1', '#1:137438953472', '#99999:1'])
    assert.equal(parseRid(beyond), -1, beyond);
});
