import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { quickStart } from '../support/server-process.ts';

// The protocol over standard input and output, with the script that clients start (contract 2; mcp.md 8).

const script = resolve(import.meta.dirname, '../../server/bin/mcp-stdio.sh');

interface Outcome {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

/** Gives the lines to a process of its own and waits for its end. */
async function talk(
  context: TestContext,
  rootPath: string,
  given: { readonly password?: string; readonly input: string },
): Promise<Outcome> {
  const settings = [
    `service.server.rootPath=${rootPath}`,
    'service.server.httpIncomingHost=127.0.0.1',
    'service.server.httpIncomingPort=0',
    ...(given.password === undefined ? [] : [`service.server.rootPassword=${given.password}`]),
  ];
  const child = spawn(script, [], {
    env: { ...process.env, ...quickStart, SERVICE_SETTINGS: settings.join(' ') },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  context.after(() => child.kill('SIGKILL'));
  let output = '';
  let errors = '';
  child.stdout.on('data', (piece) => {
    output += String(piece);
  });
  child.stderr.on('data', (piece) => {
    errors += String(piece);
  });
  child.stdin.on('error', () => {});
  child.stdin.end(given.input);
  const code = await new Promise<number | null>((done) => child.once('exit', done));
  return { code, lines: output.split('\n').filter((line) => line !== ''), errors };
}

test('lines in, lines out, and the end of the input is the end of the process', async (context) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-stdio-'));
  context.after(() => rmSync(rootPath, { recursive: true, force: true }));
  const missing = await talk(context, rootPath, { input: '' });
  assert.equal(missing.code, 1);
  assert.match(missing.errors, /service\.server\.rootPassword must be set/);
  assert.deepEqual(missing.lines, []);
  const request = (id: number, method: string) => JSON.stringify({ jsonrpc: '2.0', id, method });
  const input = [
    request(1, 'initialize'),
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '',
    'no json',
    `[${request(2, 'ping')},${request(3, 'tools/list')}]`,
    '[{"jsonrpc":"2.0","method":"x"}]',
    request(4, 'resources/list'),
  ].join('\n');
  const { code, lines, errors } = await talk(context, rootPath, { password: 'password1', input });
  assert.equal(code, 0, errors);
  const answers = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    answers.map((answer) => (Array.isArray(answer) ? answer.map(({ id }) => id) : answer.id)),
    [1, null, [2, 3], 4],
  );
  assert.equal(answers[1].error.code, -32700);
  const wrong = await talk(context, rootPath, { password: 'password2', input });
  assert.equal(wrong.code, 1);
  assert.match(wrong.errors, /is not the password of root/);
});
