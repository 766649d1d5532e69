import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ValueKey } from '#core/value/equality.ts';
import { ValueTable } from '#query/evaluate/comparison/value-table.ts';

const count = 200_000;

/** Keys of each kind: what they look like, and those of texts whose samples are all the same. */
const kinds: Readonly<Record<string, (at: number) => ValueKey>> = {
  integers: (at) => at * 7_919,
  fractions: (at) => at + 0.5,
  texts: (at) => `text number ${at}`,
  'texts that differ where nobody looks': (at) => `${at}`.padStart(20, '0').padEnd(60, 'x'),
  'integers of 64 bits': (at) => 2n ** 60n + BigInt(at),
};

for (const [name, keyOf] of Object.entries(kinds))
  test(`a table of many ${name} numbers its keys in order`, () => {
    const table = new ValueTable();
    for (let at = 0; at < count; at += 1) assert.equal(table.add(keyOf(at)), at);
    assert.equal(table.size, count);
    for (let at = 0; at < count; at += 1009) {
      assert.equal(table.add(keyOf(at)), at);
      assert.equal(table.find(keyOf(at)), at);
    }
    assert.equal(table.find(keyOf(count)), -1);
    assert.equal(table.size, count);
  });

for (const [name, keyOf] of Object.entries(kinds))
  test(`a table of many ${name} grows in parts`, (t) => {
    const { set } = Map.prototype;
    const Floats = Float64Array;
    let largest = 0;
    const seen = (size: number): void => {
      if (size > largest) largest = size;
    };
    t.after(() => {
      Map.prototype.set = set;
      globalThis.Float64Array = Floats;
    });
    globalThis.Float64Array = class extends Floats {
      constructor(length: number) {
        super(length);
        seen(length);
      }
    } as typeof Float64Array;
    Map.prototype.set = function (key: unknown, value: unknown) {
      set.call(this, key, value);
      seen(this.size);
      return this;
    };
    const table = new ValueTable();
    for (let at = 0; at < count; at += 1) table.add(keyOf(at));
    assert.ok(largest >= 256 && largest <= 65_536, `${largest} keys at one go`);
  });

test('keys of all kinds stay apart, before and behind the borders of a table', () => {
  const table = new ValueTable();
  const others: readonly ValueKey[] = [null, true, false, Number.NaN, '', '1', 1n, 'a'];
  for (const [at, key] of others.entries()) assert.equal(table.add(key), at);
  for (let at = 0; at < 100_000; at += 1) {
    table.add(at);
    table.add(`${at}!`);
  }
  assert.equal(table.size, others.length + 200_000);
  for (const [at, key] of others.entries()) assert.equal(table.find(key), at);
  assert.equal(table.find(-1), -1);
  assert.equal(table.find('-1'), -1);
});
