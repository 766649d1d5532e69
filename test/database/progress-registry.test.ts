import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { ProgressRegistry } from '#database/progress/progress-registry.ts';
import { ManualRuntime } from './support/manual-runtime.ts';

const about = { database: 'school', operation: 'rebuild index', stepCount: 2, user: 'jay' };

test('progress is shown while an operation runs and vanishes with it', () => {
  const registry = new ProgressRegistry(new ManualRuntime().clock);
  const progress = registry.start(about);
  progress.step('scan', 3);
  progress.advance(2);
  progress.count('vertices', 7);
  const [entry] = registry.of('school');
  assert.deepEqual(
    [entry?.operation, entry?.user, entry?.state, entry?.step, entry?.stepIndex, entry?.counts],
    ['rebuild index', 'jay', 'running', 'scan', 0, { vertices: 7 }],
  );
  assert.deepEqual([entry?.done, entry?.total, entry?.percentage], [2, 3, 66]);
  progress.advance(5);
  assert.deepEqual([progress.entry().done, progress.entry().percentage], [3, 100]);
  progress.step('merge', undefined);
  assert.equal(registry.of('school')[0]?.percentage, -1);
  assert.deepEqual(registry.of('other'), []);
  progress.finish();
  assert.deepEqual([registry.of('school'), registry.running()], [[], []]);
});

test('a cancelled operation hears of it, and its end is told as such', () => {
  const registry = new ProgressRegistry(new ManualRuntime().clock);
  const progress = registry.start(about);
  progress.check();
  assert.equal(registry.cancel(progress.id), true);
  assert.equal(progress.signal.aborted, true);
  assert.equal(progress.entry().state, 'cancelling');
  const isCancelled = (error: unknown) =>
    error instanceof DatabaseError && error.code === 'Cancelled';
  assert.throws(() => progress.check(), isCancelled);
  progress.fail(new Error('stopped'));
  assert.equal(registry.ended()[0]?.state, 'cancelled');
  assert.match(registry.ended()[0]?.reason ?? '', /operation 1 was cancelled/);
  assert.equal(registry.cancel(progress.id), false);
});

test('an operation ends with the request that started it, or with its database', () => {
  const registry = new ProgressRegistry(new ManualRuntime().clock);
  const client = new AbortController();
  const first = registry.start({ ...about, signal: client.signal });
  const second = registry.start(about);
  const other = registry.start({ ...about, database: 'other' });
  client.abort();
  assert.deepEqual([first.signal.aborted, second.signal.aborted], [true, false]);
  registry.cancelOf('school', 'closed');
  assert.deepEqual([second.signal.aborted, other.signal.aborted], [true, false]);
  const gone = registry.start({ ...about, signal: client.signal });
  assert.equal(gone.signal.aborted, true);
});

test('only the last operations that ended are remembered, for an hour', async () => {
  const runtime = new ManualRuntime();
  const registry = new ProgressRegistry(runtime.clock);
  for (let index = 0; index < 300; index++) registry.start(about).fail(new Error('full disk'));
  assert.equal(registry.ended().length, 200);
  assert.deepEqual([registry.ended()[199]?.id, registry.ended()[0]?.state], [300, 'failed']);
  const late = registry.start(about);
  late.finish();
  late.fail(new Error('too late to fail'));
  assert.equal(registry.ended().at(-1)?.state, 'completed');
  await runtime.advance(3_600_001);
  assert.deepEqual(registry.ended(), []);
});

test('there is a bound to what runs', () => {
  const registry = new ProgressRegistry(new ManualRuntime().clock);
  for (let index = 0; index < 1000; index++) registry.start(about);
  const isBusy = (error: unknown) => error instanceof DatabaseError && error.code === 'Busy';
  assert.throws(() => registry.start(about), isBusy);
});

test('when an operation was last completed is known for longer', async () => {
  const runtime = new ManualRuntime();
  const registry = new ProgressRegistry(runtime.clock);
  const backup = { ...about, operation: 'backup database' };
  const first = registry.start(backup);
  await runtime.advance(2000);
  first.finish();
  registry.start(backup).fail(new Error('full disk'));
  registry.start(about).finish();
  await runtime.advance(86_400_000);
  const [last, ...others] = registry.lastCompleted('backup database');
  assert.deepEqual([last?.database, last?.elapsedMs, others], ['school', 2000, []]);
});

test('the reason of a failure holds no secret and no second line', () => {
  const registry = new ProgressRegistry(new ManualRuntime().clock);
  registry.start(about).fail(new Error('GET http://jay:miner2024@host/x:\n404'));
  assert.equal(registry.ended()[0]?.reason, 'GET http://***@host/x: 404');
});
