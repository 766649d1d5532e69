import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { noRid, type Rid } from '#core/value/rid.ts';
import { hashOf } from '#database/bulk/ends/id-table.ts';
import { hashedId, IdText } from '#database/bulk/ends/id-text.ts';
import { TemporaryIds } from '#database/bulk/ends/temporary-ids.ts';

const shared = Buffer.alloc(256);

/** In memory that the next id overwrites, not at its start, with a digit behind it that is no part of the id. */
const place = (id: string): [Uint8Array, number, number, number] => {
  const end = shared.fill(0x58).write(`7${id}7`) - 1;
  return [shared, 1, end, hashOf(shared, 1, end)];
};

/** As a line of JSON has it: a quote behind it. */
const inLine = (ids: TemporaryIds, id: string): [Uint8Array, IdText] => {
  const line = Buffer.from(`"${id}"\n`);
  const text = new IdText();
  const isNumbered = ids.readNumbered(line, 1, text) === line.length - 2;
  return isNumbered ? [line, text] : [Buffer.from(id), hashedId(Buffer.from(id))];
};

const arbitraryNumber = fc.oneof(
  fc.nat({ max: 20 }),
  fc.constantFrom(32_767, 32_768, 1_048_575, 1_048_576, 1_048_577, 999_999_999, 1_000_000_000),
);
const arbitraryId = fc.oneof(
  arbitraryNumber.map((n) => `p${n}`),
  arbitraryNumber.map((n) => `${n}`),
  fc
    .tuple(
      fc.constantFrom('', 'p', 'pp', 'p-', 'p0', 'é', 'a,b'),
      fc.constantFrom('', '0', '00', '07', '7', '7x'),
    )
    .map(([prefix, rest]) => prefix + rest),
  fc.constant(`${'x'.repeat(70)}1`),
);

test('temporary ids are found as in a map, numbered ones and all others', () => {
  const sequences = fc.array(fc.tuple(arbitraryId, fc.boolean(), fc.boolean()), { maxLength: 60 });
  fc.assert(
    fc.property(sequences, fc.integer(), (steps, seed) => {
      const ids = new TemporaryIds(seed);
      const model = new Map<string, Rid>();
      const order: string[] = [];
      const find = (id: string, isLine: boolean) =>
        isLine ? ids.findText(...inLine(ids, id)) : ids.find(...place(id));
      for (const [index, [id, isAdded, isLine]] of steps.entries()) {
        const expected = model.get(id);
        if (!isAdded) {
          assert.equal(find(id, isLine), expected, `find ${id}`);
          continue;
        }
        const entry = isLine ? ids.addText(...inLine(ids, id)) : ids.add(...place(id));
        assert.equal(entry >= 0, expected === undefined, `add ${id}`);
        if (entry < 0) continue;
        order.push(id);
        assert.equal(find(id, !isLine), noRid);
        // Every third record stays unknown for now.
        const rid = (index % 3 === 0 ? noRid : index * 1000) as Rid;
        if (rid !== noRid) ids.setRid(entry, rid);
        model.set(id, rid);
      }
      assert.equal(ids.count, order.length);
      const walked: string[] = [];
      for (let entry = 0; entry < ids.end; entry = ids.after(entry)) {
        walked.push(ids.textOf(entry));
        assert.equal(ids.ridOf(entry), model.get(ids.textOf(entry)));
      }
      assert.deepEqual(walked, order);
    }),
  );
});

test('an id that came when its number was too large for a page is still the same id later', () => {
  const ids = new TemporaryIds(1);
  const far = 1_100_000;
  assert.ok(ids.add(...place('p0')) >= 0);
  assert.ok(ids.add(...place(`p${far}`)) >= 0);
  for (let n = 1; n < 300_000; n += 1) ids.add(...place(`p${n}`));
  assert.equal(ids.add(...place(`p${far}`)), -1);
  assert.ok(ids.add(...place(`p${far + 1}`)) >= 0);
  assert.equal(ids.add(...place(`p${far + 1}`)), -1);
  assert.equal(ids.find(...place(`p${far}`)), noRid);
  assert.equal(ids.count, 300_002);
});

test('the memory of the lines may be used again for others', () => {
  const ids = new TemporaryIds(1);
  const first = ids.add(...place('p7'));
  ids.setRid(first, 70 as Rid);
  assert.ok(ids.add(...place('17')) >= 0);
  assert.equal(ids.find(...place('p7')), 70);
  assert.equal(ids.find(...place('17')), noRid);
});
