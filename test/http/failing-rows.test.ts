import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSockets } from '../websocket/socket-fixture.ts';

// A statement that fails at one of its rows (http-api.md 7): what came before it is sent, then the error.

test('rows before a failing one are sent, then the error line; a JSON answer is the error alone', async (context) => {
  const { door, sql } = await startSockets(context);
  await sql('CREATE DOCUMENT TYPE T');
  for (let i = 0; i < 10; i += 1) await sql(`INSERT INTO T SET i = ${i}`);
  const ask = (command: string, accept: string, more: object = {}) =>
    door.ask('POST', 'query/school', {
      body: { language: 'sql', command, ...more },
      headers: { accept },
    });
  const lines = 'application/x-ndjson';
  const failing = 'SELECT 10 / (5 - i) AS q FROM T';
  const sources = [failing, `SELECT expand(list) FROM (SELECT [10 / (5 - i)] AS list FROM T)`];
  for (const command of sources) {
    const answer = await ask(command, lines);
    assert.equal(answer.status, 200, command);
    const told = answer.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const { error } = told.pop();
    assert.deepEqual([error.status, error.exception], [400, 'ArithmeticErrorException']);
    assert.equal(told.length, 5, command);
    assert.equal((await ask(command, 'application/json')).status, 400);
  }
  // Nothing comes before the failure here, or the failing row is not asked for.
  assert.equal((await ask(`${failing} ORDER BY q`, lines)).status, 400);
  assert.equal((await ask('SELECT 1 / i AS q FROM T', lines)).status, 400);
  const few = await ask(failing, lines, { limit: 3 });
  assert.match(few.text, /"stats":\{"limit":3,"returned":3,"truncated":true\}/);
  const refused = await ask(failing, 'application/json');
  const streamed = (await ask(failing, lines)).text.trim().split('\n').at(-1) ?? '';
  assert.equal(JSON.parse(streamed).error.message, refused.body['detail']);
});
