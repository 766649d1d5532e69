import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { quickStart } from '../support/server-process.ts';

// The protocol over standard input and output, with the script that clients start (contract 2; mcp.md 8).

const script = resolve(import.meta.dirname, '../../bin/mcp-stdio.sh');

interface Outcome {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

/** Gives the lines to a process of its own and waits for its end. */
async function talk(
  context: TestContext,
  rootPath: string,
  given: {
    readonly password?: string;
    readonly input: string;
    readonly more?: readonly string[];
    /** With the first answer, while the input is open; without it the input ends at once. */
    readonly onAnswer?: (child: ChildProcessWithoutNullStreams) => void;
  },
): Promise<Outcome> {
  const settings = [
    ...(given.more ?? []),
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
    given.onAnswer?.(child);
  });
  child.stderr.on('data', (piece) => {
    errors += String(piece);
  });
  child.stdin.on('error', () => {});
  if (given.onAnswer === undefined) child.stdin.end(given.input);
  else child.stdin.write(given.input);
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

test('the list of users holds over standard input, lines are bounded, and SIGTERM is an end', async (context) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-stdio-'));
  context.after(() => rmSync(rootPath, { recursive: true, force: true }));
  const password = 'password1';
  const ping = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`;
  const long = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'y'.repeat(5000)}"}}\n`;
  const more = ['service.server.httpBodyContentMaxSize=4096'];
  const bounded = await talk(context, rootPath, { password, more, input: long + ping(2) });
  assert.equal(bounded.code, 0, bounded.errors);
  const [refused, served] = bounded.lines.map((line) => JSON.parse(line));
  assert.deepEqual([refused.id, refused.error.code, served.result], [null, -32600, {}]);
  assert.match(refused.error.message, /service\.server\.httpBodyContentMaxSize/);
  const onAnswer = (child: ChildProcessWithoutNullStreams) => child.kill('SIGTERM');
  const ended = await talk(context, rootPath, { password, input: ping(3), onAnswer });
  assert.deepEqual([ended.code, ended.lines.length], [0, 1], ended.errors);
  mkdirSync(join(rootPath, 'config'), { recursive: true });
  const configuration = { enabled: false, allowedUsers: ['jay'] };
  writeFileSync(join(rootPath, 'config/mcp-config.json'), JSON.stringify(configuration));
  const unlisted = await talk(context, rootPath, { password, input: ping(4) });
  assert.match(unlisted.lines.join(), /"id":4,"error":.*User not authorized for MCP access/);
});

test('a data directory that another process holds is told, and nothing is served', async (context) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-stdio-'));
  context.after(() => rmSync(rootPath, { recursive: true, force: true }));
  const password = 'password1';
  const input = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
  const second = new Promise<Outcome & { readonly holder: number | undefined }>((done) => {
    const onAnswer = async (child: ChildProcessWithoutNullStreams) => {
      const outcome = await talk(context, rootPath, { password, input });
      child.stdin.end();
      done({ ...outcome, holder: child.pid });
    };
    void talk(context, rootPath, { password, input, onAnswer });
  });
  const { code, lines, errors, holder } = await second;
  assert.deepEqual([code, lines], [1, []]);
  assert.ok(errors.includes(`process ${holder} `), errors);
  assert.match(errors, /uses this directory already .*stop it, or set another/);
});
