import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { IndexId, LogIndex, Rid } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import { UniqueEntryCache } from '#storage/read/unique-entry-cache.ts';
import { Log, openEngine, person, put, temporaryDirectory } from './engine-fixture.ts';
import { indexes } from './indexed-fixture.ts';

test('the cache gives what was put last and not taken out, to snapshots that may see it', () => {
  const step = fc.record({
    kind: fc.constantFrom('put', 'put', 'put', 'remove'),
    index: fc.nat(2),
    key: fc.oneof(fc.nat(3000), fc.string({ maxLength: 50 })),
    rid: fc.nat(1e6),
    since: fc.nat(50),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 4000 }), (steps) => {
      const cache = new UniqueEntryCache(256 * 1024);
      const model = new Map<string, { rid: number; since: number }>();
      let known = 0;
      for (const { kind, index, key, rid, since } of steps) {
        const bytes = encodeKey([key]);
        const name = `${index}/${typeof key}/${key}`;
        if (kind === 'remove') {
          cache.remove(index as IndexId, bytes);
          model.delete(name);
        } else {
          cache.put(index as IndexId, bytes, rid as Rid, since as LogIndex);
          model.set(name, { rid, since });
        }
        const expected = model.get(name);
        const found = cache.get(index as IndexId, bytes, bytes.length, 50 as LogIndex);
        // What was put a moment ago is there, unless its key is a long one.
        if (bytes.length <= 44) assert.equal(found, expected?.rid);
        else assert.equal(found, undefined);
        if (expected !== undefined && expected.since > 0) {
          const before = (expected.since - 1) as LogIndex;
          assert.equal(cache.get(index as IndexId, bytes, bytes.length, before), undefined);
        }
        known += 1;
      }
      for (const [name, { rid }] of model) {
        const [index, kind, ...rest] = name.split('/');
        const text = rest.join('/');
        const bytes = encodeKey([kind === 'number' ? Number(text) : text]);
        const found = cache.get(Number(index) as IndexId, bytes, bytes.length, 50 as LogIndex);
        assert.ok(found === undefined || found === rid, name);
      }
      assert.ok(cache.bytes <= 256 * 1024);
      assert.equal(known, steps.length);
      cache.clear();
      assert.equal(cache.bytes, 0);
    }),
    { numRuns: 30 },
  );
});

test('unique keys that are handed on lead every snapshot to the record it knows', async (context) => {
  const engine = openEngine(temporaryDirectory(context), { deriver: indexes });
  const log = new Log(engine);
  const nameIndex = 1 as IndexId;
  const owners = (snapshot: StorageSnapshot) =>
    Array.from({ length: 8 }, (_, n) => snapshot.uniqueEntry(nameIndex, encodeKey([`name${n}`])));
  const names = Array.from({ length: 6 }, (_, n) => n);
  await log.commit(
    ...names.map((name, at) => put(engine, person(at), { name: `name${name}`, size: 1 })),
  );
  const held: { snapshot: StorageSnapshot; expected: unknown }[] = [];
  for (let round = 0; round < 40; round += 1) {
    const expected = Array.from({ length: 8 }, (_, n) => {
      const at = names.indexOf(n);
      return at < 0 ? undefined : person(at);
    });
    const snapshot = engine.snapshot();
    assert.deepEqual(owners(snapshot), expected, `round ${round}`);
    held.push({ snapshot, expected });
    // Records swap names, and one takes a name that is free.
    const [a, b] = [round % 6, (round * 5 + 2) % 6];
    const free = [0, 1, 2, 3, 4, 5, 6, 7].find((n) => !names.includes(n)) as number;
    if (round % 3 === 0 || a === b) names[a] = free;
    else [names[a], names[b]] = [names[b] as number, names[a] as number];
    await log.commit(
      ...[...new Set([a, b])].map((at) =>
        put(engine, person(at), { name: `name${names[at]}`, size: round }),
      ),
    );
    for (const one of held) assert.deepEqual(owners(one.snapshot), one.expected);
  }
  for (const { snapshot } of held) snapshot[Symbol.dispose]();
  await engine.close();
});
