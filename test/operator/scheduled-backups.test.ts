import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackupStatus } from '../../operator/api/kinds/backup.ts';
import type { ScheduledBackupStatus } from '../../operator/api/kinds/scheduled-backup.ts';
import { conditionOf } from '../../operator/api/conditions.ts';
import { namespace, SimulatedWorld } from './sim/simulated-world.ts';

// `ScheduledBackup` in virtual time, which begins on 2026-11-21 at 00:00 UTC.

const template = { clusterRef: { name: 'orders' } };
const hourMs = 3_600_000;

async function readyWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', spec);
  await world.settle();
  return world;
}

function statusOf(world: SimulatedWorld): ScheduledBackupStatus {
  return (world.api.find('ScheduledBackup', 'daily')?.status ?? {}) as ScheduledBackupStatus;
}

function names(world: SimulatedWorld): readonly string[] {
  return world.api
    .all('Backup')
    .map(({ metadata }) => metadata.name)
    .sort();
}

/** The schedule and its Backups get their turns; time stands still. */
async function turn(world: SimulatedWorld, turns = 8): Promise<void> {
  for (let count = 0; count < turns; count++) {
    await world.lookAt('ScheduledBackup', 'daily');
    for (const name of names(world)) await world.lookAt('Backup', name);
  }
}

/** Time passes until `hour` of the day that the world is in. */
async function until(world: SimulatedWorld, time: string): Promise<void> {
  const now = world.runtime.clock.now();
  world.runtime.skip(Date.parse(time) - now);
  await turn(world);
}

const put = (world: SimulatedWorld, spec: object = {}) =>
  world.put('ScheduledBackup', 'daily', { schedule: '0 2 * * *', template, ...spec });

test("a Backup is made when it falls due, in the zone of the schedule, and is its owner's", async () => {
  const world = await readyWorld();
  put(world, { timezone: 'Europe/Rome' });
  await turn(world);
  assert.deepEqual(names(world), []);
  assert.equal(statusOf(world).nextScheduleTime, '2026-11-21T01:00:00Z');
  const writes = world.api.effectiveWrites;
  await until(world, '2026-11-21T00:59:59Z');
  assert.equal(world.api.effectiveWrites, writes, 'quiet until it is due');
  await until(world, '2026-11-21T01:00:01Z');
  assert.deepEqual(names(world), ['daily-202611210100']);
  const { lastScheduleTime, lastBackup, nextScheduleTime } = statusOf(world);
  assert.deepEqual(
    [lastScheduleTime, lastBackup, nextScheduleTime],
    ['2026-11-21T01:00:00Z', 'daily-202611210100', '2026-11-22T01:00:00Z'],
  );
  const made = world.api.find('Backup', 'daily-202611210100');
  assert.ok(made);
  assert.equal((made.status as BackupStatus).phase, 'Succeeded');
  assert.deepEqual(
    made.metadata.ownerReferences?.map(({ kind, name }) => [kind, name]),
    [['ScheduledBackup', 'daily']],
  );
});

test('of what was missed the last one is made up for, once', async () => {
  const world = await readyWorld();
  put(world);
  await turn(world);
  await until(world, '2027-03-01T12:00:00Z');
  assert.deepEqual(names(world), ['daily-202703010200']);
  world.restartOperator();
  await turn(world);
  assert.deepEqual(names(world), ['daily-202703010200']);
});

test('immediate makes one at once too; what falls due while it is suspended is left out', async () => {
  const world = await readyWorld();
  put(world, { immediate: true });
  await turn(world);
  assert.equal(names(world).length, 1);
  world.api.change('ScheduledBackup', 'daily', { spec: { suspend: true } });
  await until(world, '2026-11-23T12:00:00Z');
  assert.equal(conditionOf(statusOf(world).conditions, 'Ready')?.reason, 'Suspended');
  assert.equal(statusOf(world).nextScheduleTime, undefined);
  world.api.change('ScheduledBackup', 'daily', { spec: { suspend: false } });
  await turn(world);
  assert.equal(names(world).length, 1);
  await until(world, '2026-11-24T02:00:00Z');
  assert.equal(names(world).length, 2);
});

test('while one runs, Forbid leaves the next out and Replace deletes it', async () => {
  for (const [concurrencyPolicy, last] of [
    ['Forbid', 'daily-202611210200'],
    ['Replace', 'daily-202611220200'],
  ] as const) {
    const world = await readyWorld();
    world.members.course.isHeld = true;
    put(world, { concurrencyPolicy });
    await until(world, '2026-11-21T02:00:00Z');
    await until(world, '2026-11-22T02:00:00Z');
    assert.deepEqual(names(world), [last], concurrencyPolicy);
    const isSkipped = world.api.all('Event').some(({ reason }) => reason === 'BackupSkipped');
    assert.equal(isSkipped, concurrencyPolicy === 'Forbid');
  }
});

test('histories keep so many that succeeded and so many that failed', async () => {
  const world = await readyWorld();
  put(world, { schedule: '0 * * * *', successfulHistory: 2, failedHistory: 1 });
  for (let hour = 0; hour < 8; hour++) {
    if (hour % 2 === 0) world.members.course.failing.delete('orders');
    else world.members.course.failing.set('orders', 'no space left');
    world.runtime.skip(hourMs);
    await turn(world);
  }
  const phases = world.api.all('Backup').map(({ status }) => (status as BackupStatus).phase);
  assert.deepEqual(phases.sort(), ['Failed', 'Succeeded', 'Succeeded']);
  assert.equal(names(world).at(-1), 'daily-202611210800');
});

test('what it cannot do is refused by its name, and what may not be meant so is said', async () => {
  const world = await readyWorld({ backup: {} });
  const refused = [
    [{ schedule: '0 0 2 * * *' }, /^spec\.schedule: .*five fields/],
    [{ schedule: '61 2 * * *' }, /^spec\.schedule/],
    [{ timezone: 'Europe/Nowhere' }, /^spec\.schedule/],
    [{ template: { ...template, method: 'Stream' } }, /^spec\.template\.destination needs/],
    [
      { template: { ...template, method: 'VolumeSnapshot' } },
      /^not supported: spec\.template\.method/,
    ],
  ] as const;
  for (const [more, message] of refused) {
    put(world, more);
    await turn(world);
    const stalled = conditionOf(statusOf(world).conditions, 'Stalled');
    assert.equal(stalled?.reason, 'InvalidSpec');
    assert.match(stalled?.message ?? '', message);
  }
  put(world);
  await turn(world);
  assert.equal(conditionOf(statusOf(world).conditions, 'Stalled'), undefined);
  assert.equal(conditionOf(statusOf(world).conditions, 'SpecWarnings')?.reason, 'TwoSchedules');
});

test('killed at every write, and with a second operator, one Backup is made for each moment', async () => {
  for (let killAt = 0; killAt <= 12; killAt++) {
    const world = await readyWorld();
    put(world);
    const other = world.secondKinds();
    let writes = 0;
    world.api.faultAfter = ({ method }) =>
      method !== 'GET' && ++writes === killAt ? 'drop' : undefined;
    for (let hour = 0; hour < 30; hour++) {
      const looks = [
        world.lookAt('ScheduledBackup', 'daily'),
        other.look('ScheduledBackup', namespace, 'daily'),
        ...names(world).map((name) => world.lookAt('Backup', name)),
      ];
      const ends = await Promise.allSettled(looks);
      if (ends.some(({ status }) => status === 'rejected')) world.restartOperator();
      world.runtime.skip(hourMs);
    }
    world.api.faultAfter = undefined;
    await turn(world);
    assert.deepEqual(names(world), ['daily-202611210200', 'daily-202611220200'], String(killAt));
  }
});
