import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typeIdOf } from '#http/serializers/type-hints.ts';
import { openTestDatabase } from './support/open-test-database.ts';

// Columns know types that their values do not show (http-api.md 5.2, `@props`): 5 may be a LONG.

test('columns of declared properties, counts and what is computed from them tell their types', async () => {
  const opened = await openTestDatabase();
  try {
    for (const text of [
      'CREATE DOCUMENT TYPE T',
      'CREATE DOCUMENT TYPE S EXTENDS T',
      'CREATE PROPERTY T.l LONG',
      'CREATE PROPERTY T.h SHORT',
      'CREATE PROPERTY T.v ARRAY_OF_FLOATS',
      'CREATE PROPERTY S.own LONG',
      'INSERT INTO T SET l = 5, h = 6, v = [1, 2], n = 7, own = 8',
    ])
      await opened.run(text);
    const typesOf = async (text: string) => {
      const result = await opened.stream(text);
      try {
        return result.shape.kind === 'columns' ? result.shape.types : 'value';
      } finally {
        result.close();
      }
    };
    const told = await typesOf('SELECT l, h, v, n, own, l + 1, -n, count(*) FROM T GROUP BY l');
    assert.deepEqual(told, [
      'LONG',
      'SHORT',
      'ARRAY_OF_FLOATS',
      undefined,
      undefined,
      'LONG',
      undefined,
      'LONG',
    ]);
    assert.deepEqual(await typesOf('SELECT own FROM S WHERE l = 5 ORDER BY own LIMIT 1'), ['LONG']);
    assert.deepEqual(await typesOf('SELECT max(l) AS m, sum(h) AS s, avg(l) AS a FROM T'), [
      'LONG',
      undefined,
      undefined,
    ]);
    assert.deepEqual(await typesOf('SELECT sum(l) AS s FROM T'), ['LONG']);
    assert.deepEqual(await typesOf('SELECT l FROM (SELECT l FROM T)'), ['LONG']);
  } finally {
    await opened.close();
  }
});

test('a declared type is told where the value is of its form', () => {
  assert.equal(typeIdOf(5), 1);
  assert.equal(typeIdOf(5, 'LONG'), 3);
  assert.equal(typeIdOf(5, 'SHORT'), 2);
  assert.equal(typeIdOf(5, 'BYTE'), 12);
  assert.equal(typeIdOf('5', 'LONG'), 7);
  assert.equal(typeIdOf(null, 'LONG'), 7);
  assert.equal(typeIdOf([1], 'ARRAY_OF_FLOATS'), 22);
  assert.equal(typeIdOf([1], undefined), 9);
});
