import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeDirectories, readTextIfExists, removeFile, replaceFile } from '#platform/files.ts';
import { WorkerKeyDerivation } from '#platform/key-derivation.ts';
import { LogSink } from '#platform/log-sink.ts';
import { createLog } from '#platform/pino-log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { formatFileTimestamp, formatLogTime, formatTimestamp } from '#platform/timestamp.ts';

const directory = mkdtempSync(join(tmpdir(), 'polyad-platform-'));
after(() => rmSync(directory, { recursive: true }));

test('a replaced file has the new content, mode 0600, and leaves nothing beside it', async () => {
  const path = join(directory, 'users');
  writeFileSync(`${path}.tmp`, 'left over', { mode: 0o644 });
  await replaceFile(path, 'one');
  await replaceFile(path, 'two');
  assert.equal(readFileSync(path, 'utf8'), 'two');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory), ['users']);
  await removeFile(path);
  await removeFile(path);
  assert.equal(await readTextIfExists(path), undefined);
});

test('directories are made with those above them; where the system never finds them there is an error', () => {
  const path = join(directory, 'a', 'b', 'c');
  makeDirectories(path, 0o750);
  makeDirectories(path);
  assert.equal(statSync(path).mode & 0o777, 0o750);
  writeFileSync(join(path, 'file'), '');
  assert.throws(() => makeDirectories(join(path, 'file')), { code: 'EEXIST' });
  assert.throws(() => makeDirectories(join(path, 'file', 'd')), { code: 'ENOTDIR' });
  // Here Node's own `recursive` turns in a circle for ever.
  assert.throws(() => makeDirectories('/proc/polyad-nowhere/x'), { code: 'ENOENT' });
});

test('keys are those of PBKDF2, and a full queue refuses', async () => {
  let queueLengthMax = 10;
  const derivation = new WorkerKeyDerivation({
    queueLengthMax: () => queueLengthMax,
    timers: systemRuntime.timers,
  });
  const salt = Buffer.from('salt');
  const keys = await Promise.all([
    derivation.derive('pässword', salt, 1000),
    derivation.derive('other', salt, 2000),
  ]);
  assert.deepEqual(Buffer.from(keys[0]), pbkdf2Sync('pässword', salt, 1000, 32, 'sha256'));
  assert.deepEqual(Buffer.from(keys[1]), pbkdf2Sync('other', salt, 2000, 32, 'sha256'));
  queueLengthMax = 0;
  await assert.rejects(derivation.derive('x', salt, 1000), { code: 'Busy' });
  queueLengthMax = 1;
  const interrupted = derivation.derive('x', salt, 1000);
  await Promise.all([assert.rejects(interrupted, { code: 'NotOnline' }), derivation.close()]);
});

function linesOf(format: 'text' | 'json', level: 'debug' | 'info'): string[] {
  const lines: string[] = [];
  const sink = new LogSink(undefined, (line) => void lines.push(line));
  const log = createLog({ format, level, sink, clock: { now: () => 0, monotonicMs: () => 0 } });
  log.debug('fine', { n: 1 });
  log.warn('a\nforged line', { user: 'x\r\ny z', absent: undefined });
  return lines.flatMap((written) => written.split(/(?<=\n)/));
}

test('log lines cannot be forged and keep their fields', () => {
  const [line, ...rest] = linesOf('text', 'info');
  assert.deepEqual(rest, []);
  assert.equal(line, `${formatLogTime(0)} WARN  a forged line user="x  y z"\n`);
  const records = linesOf('json', 'debug').map((text) => JSON.parse(text));
  assert.deepEqual(
    records.map((record) => [record.level, record.message]),
    [
      ['debug', 'fine'],
      ['warn', 'a\nforged line'],
    ],
  );
});

test('the least level of a log changes while it is in use', () => {
  for (const format of ['text', 'json'] as const) {
    const lines: string[] = [];
    const sink = new LogSink(undefined, (line) => void lines.push(line));
    const log = createLog({
      format,
      level: 'info',
      sink,
      clock: { now: () => 0, monotonicMs: () => 0 },
    });
    log.debug('unheard');
    log.setLevel('debug');
    log.debug('heard');
    sink.flush();
    assert.equal(lines.length, 1, format);
  }
});

test('lines of a turn leave in one write, those that warn at once', async () => {
  for (const format of ['text', 'json'] as const) {
    const writes: string[] = [];
    const sink = new LogSink(undefined, (lines) => void writes.push(lines));
    const clock = { now: () => 0, monotonicMs: () => 0 };
    const log = createLog({ format, level: 'info', sink, clock });
    log.info('one');
    log.info('two');
    assert.equal(writes.length, 0, format);
    await new Promise(setImmediate);
    assert.equal(writes.length, 1, format);
    assert.match(String(writes[0]), /one.*\n.*two.*\n$/s);
    log.info('three');
    log.error('four');
    assert.match(String(writes[1]), /three.*four/s, 'what goes before an error is told with it');
    for (let n = 0; n < 70; n += 1) log.info('x'.repeat(1000));
    assert.equal(writes.length, 3, 'what waits is bounded');
    sink.close();
    assert.equal(writes.length, 4, format);
  }
});

test('the log file rotates', () => {
  const logs = join(directory, 'log');
  const sink = new LogSink(logs, () => {});
  const line = `${'x'.repeat(1024 * 1024)}\n`;
  for (let i = 0; i < 12; i++) sink.write(line);
  sink.close();
  assert.deepEqual(readdirSync(logs).sort(), ['polyad.1.log', 'polyad.log']);
});

test('timestamps are fixed-width, those of the log name their offset', () => {
  const time = formatLogTime(1_786_370_000_007);
  assert.match(time, /^2026-08-10T\d\d:\d\d:\d\d\.007[+-]\d\d:\d\d$/);
  assert.equal(Date.parse(time), 1_786_370_000_007);
  assert.match(formatTimestamp(1_786_370_000_007), /^2026-08-10 \d\d:\d\d:\d\d\.007$/);
  assert.match(formatFileTimestamp(1_786_370_000_007), /^20260810-\d{6}$/);
});
