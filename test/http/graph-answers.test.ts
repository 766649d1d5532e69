import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSockets } from '../websocket/socket-fixture.ts';

// Serializers `graph` and `studioGraph` over real edges (http-api.md 5.3).

interface Element {
  readonly p: Readonly<Record<string, unknown>>;
}

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
