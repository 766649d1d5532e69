import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDatabaseDoor } from './database-door.ts';

test('an edge of a LIGHTWEIGHT type has no record id, alone, inside of a row and as lines', async (context) => {
  const { door, data } = await startDatabaseDoor(context);
  for (const text of [
    'CREATE VERTEX TYPE V1',
    'CREATE EDGE TYPE L LIGHTWEIGHT',
    'INSERT INTO V1 SET n = 1',
    'CREATE EDGE L FROM (SELECT FROM V1) TO (SELECT FROM V1)',
  ])
    await data.run(text);
  const [{ v = undefined } = {}] = await data.run('SELECT @rid AS v FROM V1');
  const edge = { '@type': 'L', '@cat': 'e', '@in': v, '@out': v };
  const ask = async (command: string, headers = {}) => {
    const asked = { body: { language: 'sql', command }, headers };
    const { body, text } = await door.ask('POST', 'query/test', asked);
    return { result: body?.['result'], text };
  };
  assert.deepEqual((await ask("SELECT expand(outE('L')) FROM V1")).result, [edge]);
  assert.deepEqual((await ask("SELECT outE('L') AS e FROM V1")).result, [{ e: [edge] }]);
  const lines = await ask("SELECT expand(outE('L')) FROM V1", { accept: 'application/x-ndjson' });
  assert.doesNotMatch(lines.text, /@rid/);
  assert.match(lines.text, /"@type":"L"/);
});
