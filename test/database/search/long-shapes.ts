import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../support/open-test-database.ts';

test('a geometry of too many coordinates is refused by its bound, asked for and written', async (t) => {
  const database = await openTestDatabase();
  t.after(() => database.close());
  const line = (count: number): string =>
    `LINESTRING (${Array.from({ length: count }, (_, n) => `${n / 1000} 1`).join(', ')})`;
  const run = (text: string, g: string) => database.run(text, { g });
  await database.run('CREATE DOCUMENT TYPE P');
  await database.run('CREATE PROPERTY P.g STRING');
  await run('INSERT INTO P SET g = :g', line(10_001));
  const bound = /more than 10,?000 coordinates/;
  for (const call of ['geo.area(:g)', "geo.within('POINT (1 1)', :g)", 'geo.buffer(:g, 1)'])
    await assert.rejects(run(`SELECT ${call} AS x`, line(10_001)), bound, call);
  await assert.rejects(run('CREATE INDEX ON P (g) GEOSPATIAL', ''), bound);
  await database.run('DELETE FROM P');
  await database.run('CREATE INDEX ON P (g) GEOSPATIAL');
  await assert.rejects(run('INSERT INTO P SET g = :g', line(10_001)), bound);
  await run('INSERT INTO P SET g = :g', line(10_000));
  const found = await run("SELECT FROM P WHERE geo.intersects(g, 'POINT (1 1)')", '');
  assert.equal(found.length, 1);
  await assert.rejects(run('SELECT FROM P WHERE geo.intersects(g, :g)', line(10_001)), bound);
});
