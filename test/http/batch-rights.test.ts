import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turnsUntil } from '../support/turns.ts';
import { startSockets } from '../websocket/socket-fixture.ts';
import { basic } from './door-fixture.ts';

// Rights that are taken away while a body is still arriving: a load may take hours.

test('who loses the right to insert in the middle of a load keeps what was committed before', async (context) => {
  const { door, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE V');
  const count = async () => Number((await sql('SELECT count(*) AS n FROM V'))[0]?.['n']);
  const line = '{"@type":"v","@class":"V"}\n';
  const chunk = `${line.length.toString(16)}\r\n${line}\r\n`;
  const levels = (level: string) => new Map([['school', [level]]]);
  const takings: readonly ((name: string) => Promise<void>)[] = [
    (name) => door.users.update(name, { databases: levels('reader') }),
    (name) => door.users.update(name, { databases: new Map() }),
    (name) => door.users.drop(name),
  ];
  for (const [at, take] of takings.entries()) {
    const name = `writer${at}`;
    await door.users.create(name, { password: 'password', databases: levels('writer') });
    const before = await count();
    const socket = await door.open();
    let text = '';
    socket.on('data', (piece) => {
      text += String(piece);
    });
    socket.write(
      `POST /api/v1/batch/school?commitEvery=1 HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(name)}\r\nContent-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    );
    while ((await count()) === before) await new Promise((done) => setImmediate(done));
    await take(name);
    socket.write(`${chunk}0\r\n\r\n`);
    await turnsUntil(() => text.includes('partialCommit'));
    assert.match(text, /^HTTP\/1\.1 403 /);
    assert.match(text, /"verticesCreated":1,.*"partialCommit":true/);
    assert.equal(await count(), before + 1);
    socket.destroy();
  }
});
