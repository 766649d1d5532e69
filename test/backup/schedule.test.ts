import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cronSchedule, frequencySchedule, isInWindow } from '#backup/schedule.ts';

function at(year: number, month: number, day: number, hour = 0, minute = 0, second = 0): number {
  return new Date(year, month - 1, day, hour, minute, second).getTime();
}

function nextOf(expression: string, from: number): string {
  const next = cronSchedule(expression).next(from);
  return next === undefined ? 'never' : new Date(next).toString().slice(0, 24);
}

const from = at(2026, 1, 31, 10, 20, 30);

test('the next run of a cron expression is strictly after now', () => {
  assert.equal(nextOf('30 20 10 * * *', from), 'Sun Feb 01 2026 10:20:30');
  assert.equal(nextOf('31 20 10 * * *', from), 'Sat Jan 31 2026 10:20:31');
});

test('cron expressions have lists, ranges, steps, names, ? and 7 for Sunday', () => {
  assert.equal(nextOf('0 0 2 * * ?', from), 'Sun Feb 01 2026 02:00:00');
  assert.equal(nextOf('0 0 2 * * 7', from), 'Sun Feb 01 2026 02:00:00');
  assert.equal(nextOf('0 0 2 * * SUN', from), 'Sun Feb 01 2026 02:00:00');
  assert.equal(nextOf('0 0 12 1 MAR ?', from), 'Sun Mar 01 2026 12:00:00');
  assert.equal(nextOf('0 5/15 * * * *', from), 'Sat Jan 31 2026 10:35:00');
  assert.equal(nextOf('0 0 8-18/5 * * *', from), 'Sat Jan 31 2026 13:00:00');
  assert.equal(nextOf('0 0 0 3,5 * *', from), 'Tue Feb 03 2026 00:00:00');
});

test('with day of month and day of week both given, either matches', () => {
  assert.equal(nextOf('0 0 0 13 * MON', from), 'Mon Feb 02 2026 00:00:00');
  assert.equal(nextOf('0 0 0 13 * MON', at(2026, 2, 12)), 'Fri Feb 13 2026 00:00:00');
});

test('expressions that cannot be are refused', () => {
  const wrong = [
    '',
    '0 0 2 * *',
    '0 0 2 * * * *',
    '60 0 0 * * *',
    '0 0 0 30 2 *',
    '0 0 0 L * *',
    '0 0 0 1W * *',
    '0 0 0 * * 1#2',
    'a b c d e f',
    '0 0 24 * * *',
    '@daily',
    '0 0 0 0 * *',
    '0 0 0 * 13 *',
  ];
  for (const expression of wrong) assert.throws(() => cronSchedule(expression), Error, expression);
});

test('a leap day is a date', () => {
  assert.equal(nextOf('0 0 0 29 2 *', from), 'Tue Feb 29 2028 00:00:00');
});

test('a frequency counts from the moment before', () => {
  assert.equal(frequencySchedule(90).next(from), from + 90 * 60_000);
});

test('both ends of a time window are inside, and a window wraps midnight', () => {
  const day = { start: '08:00', end: '10:20' };
  assert.equal(isInWindow(from, day), true);
  assert.equal(isInWindow(at(2026, 1, 31, 10, 21), day), false);
  assert.equal(isInWindow(at(2026, 1, 31, 8), day), true);
  assert.equal(isInWindow(at(2026, 1, 31, 7, 59), day), false);
  const night = { start: '22:00', end: '06:00' };
  assert.equal(isInWindow(at(2026, 1, 31, 23), night), true);
  assert.equal(isInWindow(at(2026, 1, 31, 6), night), true);
  assert.equal(isInWindow(at(2026, 1, 31, 12), night), false);
  assert.equal(isInWindow(from, undefined), true);
});
