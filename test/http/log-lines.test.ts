import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HttpClient, quickStart, startServer } from '../support/server-process.ts';

// What operators read: the log of a real process.

test('format json has lines of JSON only, slow statements among them, and a last one', async (context) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-log-'));
  context.after(() => rmSync(rootPath, { recursive: true, force: true }));
  const server = await startServer({
    rootPath,
    rootPassword: 'password',
    settings: { 'service.server.logFormat': 'json', 'service.server.slowStatement': '5' },
    environment: quickStart,
    readyTimeoutMs: 60_000,
  });
  context.after(() => server.kill());
  const client = new HttpClient(server.port, 'root', 'password');
  await client.server('create database school');
  await client.request('POST', '/command/school', {
    language: 'sqlscript',
    command: "SLEEP 20; LET $password = 'topsecret1'; RETURN 1",
  });
  await client.server('set server setting server.logLevel debug');
  await client.request('POST', '/query/school', { language: 'sql', command: 'SELECT 1' });
  assert.equal(await server.stop(), 0);
  const lines = server
    .output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(lines.at(-1)?.['message'], 'Server stopped');
  const slow = lines.filter((line) => line['message'] === 'slow statement');
  assert.ok(slow.some((line) => line['db'] === 'school' && Number(line['ms']) >= 20));
  assert.ok(slow.every((line) => line['requestId'] !== undefined));
  assert.ok(lines.some((line) => line['message'] === 'request'));
  assert.ok(lines.every((line) => /T.*[+-]\d\d:\d\d$/.test(String(line['time']))));
  assert.doesNotMatch(server.output(), /topsecret1/);
});
