import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSockets } from '../websocket/socket-fixture.ts';
import { startDatabaseDoor } from './database-door.ts';

// Serializers `graph` and `studioGraph` over real edges (http-api.md 5.3).

interface Element {
  readonly p: Readonly<Record<string, unknown>>;
}

test('studio counts the edges of every vertex of a row, of those in columns and lists, too', async (context) => {
  const { door } = await startDatabaseDoor(context);
  const run = async (command: string) => {
    const body = { language: 'cypher', command, serializer: 'studio' };
    return (await door.ask('POST', 'command/test', { body })).body['result'];
  };
  await run('CREATE (:A {n: 1})-[:R]->(:B {n: 2})');
  const a = { '@rid': '#1:0', '@type': 'A', '@cat': 'v', '@in': 0, '@out': 1, n: 1 };
  const b = { '@rid': '#2:0', '@type': 'B', '@cat': 'v', '@in': 1, '@out': 0, n: 2 };
  assert.deepEqual(await run('MATCH (x:A) RETURN x'), [a]);
  assert.deepEqual(await run('MATCH (x:A)-->(y) RETURN x, [y] AS l, {k: y} AS m'), [
    { x: a, l: [b], m: { k: b } },
  ]);
});

test('studioGraph has the edges that connect its vertices, graph only those of its rows', async (context) => {
  const { door, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE V');
  for (const type of ['E', 'F']) await sql(`CREATE EDGE TYPE ${type}`);
  for (const n of [1, 2, 3]) await sql(`CREATE VERTEX V SET n = ${n}`);
  const connect = (type: string, from: number, to: number) =>
    sql(
      `CREATE EDGE ${type} FROM (SELECT FROM V WHERE n = ${from}) TO (SELECT FROM V WHERE n = ${to}) SET way = '${from}${type}${to}'`,
    );
  await connect('E', 1, 2);
  await connect('F', 2, 1);
  await connect('E', 1, 3);
  await connect('E', 2, 2);
  const ask = (command: string, more: object) =>
    door.ask('POST', 'query/school', { body: { language: 'sql', command, ...more } });
  const told = async (command: string, more: object) => {
    const { body } = await ask(command, more);
    const { vertices, edges, records } = body['result'] as Record<string, readonly Element[]>;
    const ways = edges?.map(({ p }) => p['way']).sort();
    return [vertices?.length, ways, records?.length, body['returned'], body['truncated']];
  };
  const two = 'SELECT FROM V WHERE n < 3';
  const studioGraph = { serializer: 'studioGraph' };
  assert.deepEqual(await told(two, studioGraph), [2, ['1E2', '2E2', '2F1'], 2, 5, false]);
  assert.deepEqual(await told(two, { serializer: 'graph' }), [2, [], undefined, 2, false]);
  // An edge of the rows is there once, and what does not fit is left out.
  const withEdge = `SELECT @this AS v, outE('F') AS f FROM V WHERE n < 3`;
  assert.deepEqual(await told(withEdge, studioGraph), [2, ['1E2', '2E2', '2F1'], 2, 5, false]);
  const [vertices, ways, , returned, truncated] = await told(two, { ...studioGraph, limit: 4 });
  assert.deepEqual([vertices, (ways as string[]).length, returned, truncated], [2, 2, 4, true]);
  assert.deepEqual((await ask('SELECT FROM V WHERE n > 9', studioGraph)).body['result'], {
    vertices: [],
    edges: [],
    records: [],
  });
});
