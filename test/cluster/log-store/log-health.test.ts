import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogHealth } from '#cluster/consensus/log-health.ts';
import { LogFailure } from '#cluster/log-store/log-store.ts';

function fixture(restartsMax: number) {
  const disk = { available: 500, total: 1000 };
  const told: string[] = [];
  let nowMs = 0;
  let restarts = 0;
  const health = new LogHealth({
    clock: { monotonicMs: () => nowMs },
    segmentBytes: 100,
    restartsMax,
    freePercMin: 20,
    space: () => disk,
    report: (level, text) => told.push(`${level} ${text}`),
    restart: () => {
      restarts += 1;
      return Promise.resolve();
    },
  });
  const pass = (ms: number) => {
    nowMs += ms;
    return health.check();
  };
  return { disk, told, health, pass, restartCount: () => restarts };
}

const full = new LogFailure('ENOSPC: no space left on device', 'ENOSPC', 42);

test('a full log waits for room for two segments, tells of it once a minute, and restarts in place', async () => {
  const { disk, told, health, pass, restartCount } = fixture(10);
  disk.available = 199;
  health.failed(full);
  for (let i = 0; i < 30; i++) await pass(3000);
  assert.equal(health.state, 'FAILED');
  assert.deepEqual(told, [
    'error Volume of Raft storage is full: log failed at index 42, 199 free, 200 needed',
    'error Volume of Raft storage is full: log failed at index 42, 199 free, 200 needed',
  ]);
  disk.available = 200;
  await pass(3000);
  assert.equal(health.state, 'OK');
  assert.equal(restartCount(), 1);
  assert.equal(told.at(-1), 'warn Raft restarted in place (attempt 1/10)');
});

test('restarts are bounded per incident; ten minutes of health end it', async () => {
  const { health, pass, told } = fixture(2);
  for (const pauseMs of [0, 0, 600_000, 0]) {
    await pass(pauseMs);
    health.failed(full);
    await pass(3000);
    assert.equal(health.state, 'OK');
  }
  health.failed(full);
  await pass(3000);
  assert.equal(health.state, 'GAVE_UP');
  assert.match(told.at(-1) ?? '', /gave up after 2 restarts/);
  await pass(600_000);
  assert.equal(health.state, 'GAVE_UP');
});

test('the volume is weighed once before the first look, as a scrape of that moment shows', () => {
  assert.equal(fixture(10).health.freeBytes, 500);
});

test('little free space is pressure until it is back', async () => {
  const { disk, health, pass, told } = fixture(10);
  disk.available = 199;
  await pass(3000);
  await pass(3000);
  assert.equal(health.state, 'PRESSURE');
  assert.equal(told.length, 1);
  disk.available = 200;
  await pass(3000);
  assert.equal(health.state, 'OK');
});

test('a slow disk is told of, once a minute', async () => {
  const { health, pass, told } = fixture(10);
  for (const tookMs of [5, 1500, 2500]) health.flushed(tookMs);
  await pass(60_000);
  health.flushed(3000.4);
  assert.deepEqual(told, [
    'warn The disk took 1500 ms for a write of the Raft log',
    'warn The disk took 3000 ms for a write of the Raft log',
  ]);
});
