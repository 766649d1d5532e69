import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDatabaseDoor } from './database-door.ts';

// How many rows of a real database an answer holds (http-api.md 6.3).

interface Counted {
  readonly limit: unknown;
  readonly returned: unknown;
  readonly truncated: unknown;
}

test('a LIMIT in the statement above the default gives all of its rows', async (context) => {
  const settings = { 'server.httpQueryDefaultLimit': '10', 'server.httpQueryMaxResultRows': '40' };
  const { door, data: opened } = await startDatabaseDoor(context, { ofDatabase: settings });
  await opened.run('CREATE DOCUMENT TYPE T');
  for (let i = 0; i < 50; i += 1) await opened.run(`INSERT INTO T SET i = ${i}`);
  const ask = async (command: string, more = {}): Promise<Counted> => {
    const fields = { language: 'sql', ...more, command };
    const { body } = await door.ask('POST', 'command/test', { body: fields });
    const { limit, returned, truncated, result } = body;
    assert.equal((result as unknown[]).length, returned, command);
    return { limit, returned, truncated };
  };
  const of = (limit: number, returned: number, truncated: boolean): Counted => ({
    limit,
    returned,
    truncated,
  });
  for (const tail of ['', ' ORDER BY i', ' ORDER BY i DESC SKIP 1', ' WHERE i >= 0']) {
    assert.deepEqual(await ask(`SELECT FROM T${tail}`), of(10, 10, true));
    assert.deepEqual(await ask(`SELECT FROM T${tail} LIMIT 5`), of(10, 5, false));
    assert.deepEqual(await ask(`SELECT FROM T${tail} LIMIT 30`), of(30, 30, false));
    assert.deepEqual(await ask(`SELECT FROM T${tail} LIMIT 45`), of(40, 40, true));
    assert.deepEqual(await ask(`SELECT FROM T${tail} LIMIT 30`, { limit: 20 }), of(20, 20, true));
  }
  assert.deepEqual(await ask('MATCH {type: T, as: t} RETURN t LIMIT 30'), of(30, 30, false));
  const script = { language: 'sqlscript' };
  assert.deepEqual(await ask('LET a = 1; SELECT FROM T LIMIT 30', script), of(30, 30, false));
  assert.deepEqual(await ask('RETURN (SELECT FROM T LIMIT 30)', script), of(30, 30, false));
  assert.deepEqual(await ask('LET a = 1; SELECT FROM T', script), of(10, 10, true));
  const params = { params: { n: 30 } };
  assert.deepEqual(await ask('SELECT FROM T LIMIT :n', params), of(30, 30, false));
  assert.deepEqual(
    await ask('LET a = 1; SELECT FROM T LIMIT :n', { ...script, ...params }),
    of(30, 30, false),
  );
  assert.deepEqual(await ask('SELECT FROM T LIMIT ?', { params: [45] }), of(40, 40, true));
  assert.deepEqual(await ask('SELECT FROM T LIMIT :n', { params: { n: -1 } }), of(10, 10, true));
  const cypher = { language: 'cypher' };
  const rows = 'UNWIND range(1, 50) AS i';
  assert.deepEqual(await ask(`${rows} RETURN i`, cypher), of(10, 10, true));
  assert.deepEqual(await ask(`${rows} RETURN i LIMIT 5`, cypher), of(10, 5, false));
  assert.deepEqual(
    await ask(`${rows} RETURN i ORDER BY i DESC LIMIT 30`, cypher),
    of(30, 30, false),
  );
  assert.deepEqual(await ask(`${rows} RETURN i LIMIT 45`, cypher), of(40, 40, true));
  assert.deepEqual(
    await ask(`${rows} RETURN i LIMIT $n`, { ...cypher, ...params }),
    of(30, 30, false),
  );
  assert.deepEqual(await ask(`${rows} WITH i LIMIT 30 RETURN i`, cypher), of(10, 10, true));
  assert.deepEqual(
    await ask(`${rows} RETURN i LIMIT 30`, { ...cypher, limit: 20 }),
    of(20, 20, true),
  );
  const union = `${rows} RETURN i LIMIT 15 UNION ALL ${rows} RETURN i LIMIT 15`;
  assert.deepEqual(await ask(union, cypher), of(30, 30, false));
});
