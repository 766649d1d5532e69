import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  formatDate,
  formatDateBy,
  formatDateTime,
  formatDateTimeBy,
  parseDate,
  parseDateTime,
  parseDateTimeBy,
} from '#core/temporal/format.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import {
  DateTime,
  LocalDate,
  civilFromDays,
  dayOfWeek,
  daysFromCivil,
  durationBetween,
  makeDuration,
  shiftDateTime,
  withPrecision,
} from '#core/temporal/temporal.ts';
import { isTimeZone, timeZone } from '#core/temporal/time-zone.ts';

const formats: TemporalFormats = {
  dateFormat: 'yyyy-MM-dd',
  dateTimeFormat: 'yyyy-MM-dd HH:mm:ss',
  zone: 'UTC',
};
const rome: TemporalFormats = { ...formats, zone: 'Europe/Rome' };

test('calendar dates and days since the epoch convert both ways', () => {
  assert.equal(daysFromCivil(1970, 1, 1), 0);
  assert.equal(daysFromCivil(2000, 3, 1), 11_017);
  assert.equal(daysFromCivil(-1, 12, 31), -719_529);
  assert.equal(dayOfWeek(daysFromCivil(2024, 5, 1)), 3);
  fc.assert(
    fc.property(fc.integer({ min: -99_999_999, max: 99_999_999 }), (day) => {
      const { year, month, day: dayOfMonth } = civilFromDays(day);
      assert.equal(daysFromCivil(year, month, dayOfMonth), day);
    }),
  );
});

test('a moment prints by the format, with a fraction only when it is not zero', () => {
  const ms = Date.parse('2024-05-01T10:20:30Z');
  const cases: readonly (readonly [DateTime, string])[] = [
    [new DateTime(ms), '2024-05-01 10:20:30'],
    [new DateTime(ms + 120), '2024-05-01 10:20:30.120'],
    [new DateTime(ms + 120, 0, 'micros'), '2024-05-01 10:20:30.120000'],
    [new DateTime(ms, 1_000, 'micros'), '2024-05-01 10:20:30.000001'],
    [new DateTime(ms + 120, 1, 'nanos'), '2024-05-01 10:20:30.120000001'],
    [new DateTime(ms + 120, 0, 'second'), '2024-05-01 10:20:30'],
    [new DateTime(-1), '1969-12-31 23:59:59.999'],
  ];
  for (const [moment, text] of cases) assert.equal(formatDateTime(moment, formats), text);
});

test('a format with fraction letters is used as it is', () => {
  const own = { ...formats, dateTimeFormat: 'yyyy-MM-dd HH:mm:ss.SSS' };
  assert.equal(formatDateTime(new DateTime(5), own), '1970-01-01 00:00:00.005');
  assert.equal(formatDateTime(new DateTime(0), own), '1970-01-01 00:00:00.000');
});

test('text becomes a moment in the documented order', () => {
  const ms = Date.parse('2024-05-01T10:20:30Z');
  const cases: readonly (readonly [string, number, number])[] = [
    ['0', 0, 0],
    ['-5', -5, 0],
    ['1714558830000', 1_714_558_830_000, 0],
    ['2024-05-01T10:20:30', ms, 0],
    ['2024-05-01T10:20', ms - 30_000, 0],
    ['2024-05-01T10:20:30.5', ms + 500, 0],
    ['2024-05-01T10:20:30.123456789', ms + 123, 456_789],
    ['2024-05-01T10:20:30Z', ms, 0],
    ['2024-05-01T10:20:30+05:00', ms, 0],
    ['2024-05-01T10:20:30.25-0800', ms + 250, 0],
    ['2024-05-01 10:20:30', ms, 0],
    ['2024-05-01 10:20:30.1', ms + 100, 0],
    ['2024-05-01 10:20:30.000001', ms, 1_000],
    ['2024-05-01', Date.parse('2024-05-01T00:00:00Z'), 0],
  ];
  for (const [text, epochMs, nanos] of cases) {
    const moment = parseDateTime(text, formats);
    assert.deepEqual([moment?.epochMs, moment?.nanosOfMs], [epochMs, nanos], text);
  }
});

test('text that is no date is refused', () => {
  const wrong = [
    '',
    'x',
    '2024-13-01',
    '2024-02-30',
    '2023-02-29',
    '2024-05-01 25:00:00',
    '2024-5-1',
  ];
  wrong.push(
    '2024-05-01 10:20:30x',
    '2024-05-01 10:20:30.',
    '2024-05-01T10:20:61',
    '99999999999999999',
  );
  wrong.push('2024-05-01 10:20:30.1234567891');
  for (const text of wrong) assert.equal(parseDateTime(text, formats), undefined, text);
  assert.equal(parseDate('hello', formats), undefined);
});

test('text becomes a date: days, either format, ISO 8601', () => {
  const day = daysFromCivil(2024, 5, 1);
  for (const text of [String(day), '2024-05-01', '2024-05-01 23:59:59', '2024-05-01T01:02:03Z'])
    assert.equal(parseDate(text, formats)?.epochDay, day, text);
  const german = { ...formats, dateFormat: 'dd.MM.yyyy' };
  assert.equal(parseDate('01.05.2024', german)?.epochDay, day);
  assert.equal(parseDate('2024-05-01', german)?.epochDay, day);
  assert.equal(formatDate(new LocalDate(day), german), '01.05.2024');
});

test('local times that a zone skips or repeats', () => {
  const skipped = parseDateTime('2024-03-31 02:30:00', rome);
  assert.equal(skipped && formatDateTime(skipped, rome), '2024-03-31 03:30:00');
  const repeated = parseDateTime('2024-10-27 02:30:00', rome);
  assert.equal(repeated?.epochMs, Date.parse('2024-10-27T00:30:00Z'));
  const zone = timeZone('Europe/Rome');
  assert.equal(zone.offsetAt(Date.parse('2024-03-31T00:59:59.999Z')), 3_600_000);
  assert.equal(zone.offsetAt(Date.parse('2024-03-31T01:00:00.000Z')), 7_200_000);
});

test('every moment survives its text, in any zone', () => {
  const zones = ['UTC', 'Europe/Rome', 'America/New_York', 'Asia/Kolkata', '+05:45', '-02:00'];
  fc.assert(
    fc.property(
      fc.integer({ min: -2_000_000_000, max: 4_000_000_000 }),
      fc.constantFrom(...zones),
      (seconds, zone) => {
        const own = { ...formats, zone, dateTimeFormat: 'yyyy-MM-dd HH:mm:ss XXX' };
        const moment = new DateTime(seconds * 1_000);
        const text = formatDateTime(moment, own);
        assert.equal(Date.parse(text.replace(' ', 'T').replace(' ', '')), moment.epochMs, text);
      },
    ),
  );
});

test('every letter of the table prints and is read back', () => {
  const moment = new DateTime(Date.parse('2024-05-01T15:04:05.678Z'), 901_234, 'nanos');
  const cases: readonly (readonly [string, string])[] = [
    ['yyyy yy uuuu', '2024 24 2024'],
    ['M MM MMM MMMM', '5 05 May May'],
    ['d dd D', '1 01 122'],
    ['EEE EEEE e', 'Wed Wednesday 3'],
    ['H HH h hh a', '15 15 3 03 PM'],
    ['mm ss', '04 05'],
    ['SSS SSSSSS SSSSSSSSS n', '678 678901 678901234 678901234'],
    ["'at' HH 'o''clock' ''", "at 15 o'clock '"],
    ['z Z XXX VV', 'UTC +0000 Z UTC'],
    ['YYYY ww DD', '2024 18 122'],
  ];
  for (const [pattern, text] of cases) {
    assert.equal(formatDateTimeBy(moment, pattern, 'UTC'), text);
    // A week-year names no day.
    const isRead = parseDateTimeBy(text, pattern, 'UTC') !== undefined;
    assert.equal(isRead, !pattern.startsWith('YYYY'), pattern);
  }
  assert.equal(formatDateTimeBy(moment, 'HH:mm XXX Z', 'America/New_York'), '11:04 -04:00 -0400');
  assert.equal(formatDateBy(new LocalDate(0), 'EEEE d MMMM yyyy'), 'Thursday 1 January 1970');
});

test('a pattern reads what it prints', () => {
  const pattern = "EEE, d MMM yyyy hh:mm:ss.SSS a 'UTC'";
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 4e12 }), (ms) => {
      const text = formatDateTimeBy(new DateTime(ms), pattern, 'UTC');
      assert.equal(parseDateTimeBy(text, pattern, 'UTC')?.epochMs, ms, text);
    }),
  );
});

test('wrong patterns and zones are named', () => {
  assert.throws(
    () => formatDateTimeBy(new DateTime(0), 'yyyy-bb', 'UTC'),
    /unknown pattern letter 'b'/,
  );
  assert.throws(() => formatDateTimeBy(new DateTime(0), "yyyy 'x", 'UTC'), /quote is not closed/);
  assert.throws(
    () => formatDateTimeBy(new DateTime(0), 'yyyy', 'Mars/Base'),
    /unknown time zone 'Mars\/Base'/,
  );
  assert.equal(isTimeZone('Mars/Base'), false);
  assert.equal(isTimeZone('Asia/Tokyo'), true);
  assert.equal(isTimeZone('+02:00'), true);
});

test('durations: what was added can be taken away again', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1e12, max: 1e12 }),
      fc.nat({ max: 999_999 }),
      fc.integer({ min: -1e6, max: 1e6 }),
      fc.nat({ max: 999_999_999 }),
      (ms, nanos, seconds, fraction) => {
        const moment = new DateTime(ms, nanos, 'nanos');
        const length = makeDuration(seconds, fraction);
        const shifted = shiftDateTime(moment, length, 1);
        assert.deepEqual(durationBetween(moment, shifted), length);
        assert.deepEqual(shiftDateTime(shifted, length, -1), moment);
      },
    ),
  );
});

test('a coarser precision cuts toward the past', () => {
  assert.equal(withPrecision(new DateTime(-1), 'second').epochMs, -1_000);
  assert.deepEqual(
    withPrecision(new DateTime(1, 1_999, 'nanos'), 'micros'),
    new DateTime(1, 1_000, 'micros'),
  );
});
