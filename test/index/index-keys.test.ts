import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDecimal } from '#core/value/decimal.ts';
import { noRid } from '#core/value/rid.ts';
import { EmbeddedDocument, type Value } from '#core/value/value.ts';
import type { IndexDefinition } from '#catalog/catalog.ts';
import { IndexKeys, type KeySource } from '#index/ordered/index-keys.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import { component, definition } from './fake-catalog.ts';

function source(properties: Record<string, Value>): KeySource {
  return { get: (name) => properties[name], out: noRid, in: noRid };
}

function keys(index: IndexDefinition, properties: Record<string, Value>): Value[][] {
  const made = new IndexKeys(index);
  const record = source(properties);
  const values = made.keyValuesOf(record).map((key) => [...key]);
  assert.deepEqual(
    made.keysOf(record).map((key) => Buffer.from(key).toString('hex')),
    values.map((key) => encodeKey(key).toString('hex')),
  );
  return values;
}

test('a composite key has one component per property', () => {
  const index = definition(1, [component('a'), component('b')]);
  assert.deepEqual(keys(index, { a: 1, b: 'x' }), [[1, 'x']]);
});

test('null components keep a record out unless nulls are keys', () => {
  const skip = definition(1, [component('a'), component('b')]);
  const take = definition(2, [component('a'), component('b')], { nullStrategy: 'INDEX' });
  assert.deepEqual(keys(skip, { a: 1 }), []);
  assert.deepEqual(keys(skip, { a: 1, b: null }), []);
  assert.deepEqual(keys(take, { a: 1 }), [[1, null]]);
  assert.deepEqual(keys(definition(3, [component('a')], { nullStrategy: 'INDEX' }), {}), [[null]]);
});

test('a unique index tells decimals between two doubles apart, one made earlier keeps the keys that it has', () => {
  const parts = [component('a'), component('d')];
  const told = new IndexKeys(definition(1, parts, { unique: true, tellsDecimals: true }));
  const earlier = new IndexKeys(definition(2, parts, { unique: true }));
  const key = (made: IndexKeys, text: string) =>
    Buffer.from(made.keysOf(source({ a: 1, d: parseDecimal(text) as Value }))[0] ?? []).toString(
      'hex',
    );
  const [one, other, same] = [
    '0.10000000000000000001',
    '0.10000000000000000002',
    '0.100000000000000000010',
  ];
  assert.notEqual(key(told, one), key(told, other));
  assert.equal(key(told, one), key(told, same));
  assert.equal(key(earlier, one), key(earlier, other));
  assert.ok(key(told, one).startsWith(key(earlier, one)));
  for (const exact of ['0.1', '0.10', '-7', '12345678901234567890'])
    assert.equal(key(told, exact), key(earlier, exact));
});

test('an index that refuses nulls names itself and the property', () => {
  const index = new IndexKeys(definition(1, [component('a')], { nullStrategy: 'ERROR' }));
  assert.throws(() => index.requireAllowed(source({})), {
    code: 'Validation',
    message: "the index 'index 1' does not allow null for 'a'",
  });
  index.requireAllowed(source({ a: 0 }));
});

test('BY ITEM has a key per distinct element, nested paths reach into elements', () => {
  const tags = definition(1, [component('tags', { by: 'item' })]);
  assert.deepEqual(keys(tags, { tags: ['x', 'y', 'x'] }), [['x'], ['y']]);
  assert.deepEqual(keys(tags, { tags: [] }), []);
  assert.deepEqual(keys(tags, { tags: ['x', null] }), [['x']]);
  const names = definition(2, [component('actors.name', { by: 'item' })]);
  const actors = [
    new Map([['name', 'A']]),
    new EmbeddedDocument('Actor', new Map([['name', 'B']])),
  ];
  assert.deepEqual(keys(names, { actors }), [['A'], ['B']]);
});

test('BY KEY and BY VALUE take the entries of a map', () => {
  const map = new Map<string, Value>([
    ['k', 1],
    ['l', 2],
  ]);
  assert.deepEqual(keys(definition(1, [component('m', { by: 'mapKey' })]), { m: map }), [
    ['k'],
    ['l'],
  ]);
  assert.deepEqual(keys(definition(2, [component('m', { by: 'mapValue' })]), { m: map }), [
    [1],
    [2],
  ]);
});

test('COLLATE CI folds letters, dotted properties reach into documents', () => {
  const index = definition(1, [
    component('name', { caseInsensitive: true }),
    component('address.city'),
  ]);
  const address = new Map([['city', 'Ulm']]);
  assert.deepEqual(keys(index, { name: 'ÄB', address }), [['äb', 'Ulm']]);
});
