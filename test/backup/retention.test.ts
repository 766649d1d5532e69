import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { expiredBackups, type KeptBackup } from '#backup/retention.ts';

function backup(...parts: [number, number, number, number?, number?]): KeptBackup {
  const [year, month, day, hour = 0, minute = 0] = parts;
  const takenAt = new Date(year, month - 1, day, hour, minute).getTime();
  return { fileName: parts.join('-'), takenAt };
}

const noTiers = { hourly: 0, daily: 0, weekly: 0, monthly: 0, yearly: 0 };

function keptNames(backups: readonly KeptBackup[], tiered: Partial<typeof noTiers>): string[] {
  const expired = new Set(expiredBackups(backups, { tiered: { ...noTiers, ...tiered } }));
  return backups.filter((one) => !expired.has(one)).map(({ fileName }) => fileName);
}

test('a number of files keeps the newest ones, and always one', () => {
  const backups = [backup(2026, 1, 1), backup(2026, 1, 3), backup(2026, 1, 2)];
  const names = (maxFiles: number) =>
    expiredBackups(backups, { maxFiles }).map(({ fileName }) => fileName);
  assert.deepEqual(names(2), ['2026-1-1']);
  assert.deepEqual(names(0), ['2026-1-2', '2026-1-1']);
  assert.deepEqual(names(3), []);
});

test('each tier keeps the most recent archive of its newest buckets', () => {
  const backups = [
    backup(2026, 1, 31, 10, 10),
    backup(2026, 1, 31, 10, 50),
    backup(2026, 1, 31, 9, 30),
    backup(2026, 1, 30, 23, 0),
    backup(2026, 1, 30, 1, 0),
    backup(2025, 12, 24),
    backup(2025, 12, 1),
  ];
  assert.deepEqual(keptNames(backups, { hourly: 2 }), ['2026-1-31-10-50', '2026-1-31-9-30']);
  assert.deepEqual(keptNames(backups, { daily: 2 }), ['2026-1-31-10-50', '2026-1-30-23-0']);
  assert.deepEqual(keptNames(backups, { monthly: 2 }), ['2026-1-31-10-50', '2025-12-24']);
  assert.deepEqual(keptNames(backups, { yearly: 3 }), ['2026-1-31-10-50', '2025-12-24']);
  assert.deepEqual(keptNames(backups, {}), ['2026-1-31-10-50']);
});

test('weeks are ISO weeks: Sunday belongs to the week before Monday, over the end of a year too', () => {
  const backups = [
    backup(2026, 1, 5),
    backup(2026, 1, 4),
    backup(2025, 12, 29),
    backup(2025, 12, 28),
  ];
  assert.deepEqual(keptNames(backups, { weekly: 3 }), ['2026-1-5', '2026-1-4', '2025-12-28']);
});

test('retention never takes the newest archive, and taking twice takes nothing more', () => {
  const moments = fc.array(fc.integer({ min: 1.6e9, max: 1.8e9 }), { minLength: 1, maxLength: 60 });
  const tiers = fc.record({
    hourly: fc.nat(5),
    daily: fc.nat(5),
    weekly: fc.nat(5),
    monthly: fc.nat(5),
    yearly: fc.nat(5),
  });
  fc.assert(
    fc.property(
      moments,
      fc.oneof(
        fc.nat(8).map((maxFiles) => ({ maxFiles })),
        tiers.map((tiered) => ({ tiered })),
      ),
      (seconds, retention) => {
        const backups = seconds.map((second, at) => ({
          fileName: String(at),
          takenAt: second * 1000,
        }));
        const expired = new Set(expiredBackups(backups, retention));
        const left = backups.filter((one) => !expired.has(one));
        const newest = Math.max(...backups.map(({ takenAt }) => takenAt));
        assert.ok(left.some(({ takenAt }) => takenAt === newest));
        assert.equal(expiredBackups(left, retention).length, 0);
      },
    ),
    { numRuns: 100 },
  );
});
