import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDatabaseDoor } from './database-door.ts';

// Errors with a place carry it as numbers, too (house decision 80).

test('errors say where in the statement they are', async (context) => {
  const { door } = await startDatabaseDoor(context);
  const cases = [
    ['sql', 'SELECT 1 +* 2', { line: 1, column: 11, offset: 10, length: 1 }],
    ['sql', 'SELECT\n  FROM Persn', { line: 2, column: 8, offset: 14, length: 5 }],
    ['sql', 'SELECT 1 +', { line: 1, column: 11, offset: 10, length: 0 }],
    // ORDER is a name, too, and BY shows that none was meant.
    ['sql', 'SELECT FROM V WHERE a = ORDER BY a', { line: 1, column: 25, offset: 24, length: 5 }],
    ['sql', 'SELECT a, group by a', { line: 1, column: 11, offset: 10, length: 5 }],
    ['cypher', 'RETURN mouse', { line: 1, column: 8, offset: 7, length: 5 }],
  ] as const;
  for (const [language, command, position] of cases) {
    const { body } = await door.ask('POST', 'command/test', { body: { language, command } });
    assert.deepEqual(body['position'], position, JSON.stringify(body));
  }
  const body = { language: 'sql', command: 'SELECT 1' };
  assert.equal((await door.ask('POST', 'command/test', { body })).body['position'], undefined);
});
