import { DatabaseError } from '../errors.ts';
import { requireDay } from './calendar.ts';
import {
  LocalDateTime,
  nanosPerDay,
  nanosPerSecond,
  offsetSecondsMax,
  secondsPerDay,
  shiftedClock,
  ZonedDateTime,
} from './instants.ts';
import { daysFromCivil, msPerDay } from './temporal.ts';
import { isTimeZone, type TimeZone, timeZone } from './time-zone.ts';

/** Offset or named zone of a zoned value: `zone` is empty for a bare offset. */
export interface ZoneChoice {
  readonly zone: string;
  /** Of a bare offset; what a named zone has depends on the moment. */
  readonly offsetSeconds: number;
}

export const utc: ZoneChoice = { zone: '', offsetSeconds: 0 };

const offsetShape = /^([+-])(\d{2})(?::?(\d{2})(?::?(\d{2}))?)?$/;

/** Seconds of `Z`, `+01`, `+0100`, `+01:00`, `+01:00:30`; undefined for other texts. @throws for more than 18 hours */
export function parseOffset(text: string): number | undefined {
  if (text === 'Z' || text === 'z') return 0;
  const match = offsetShape.exec(text);
  if (match === null) return undefined;
  const [, sign, hours, minutes = '0', seconds = '0'] = match;
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  if (Number(minutes) > 59 || Number(seconds) > 59 || total > offsetSecondsMax)
    throw new DatabaseError('IllegalArgument', `'${text}' is not an offset within 18 hours of UTC`);
  return sign === '-' ? 0 - total : total;
}

const namedShape = /^[A-Za-z][A-Za-z0-9~/._+-]*$/;

/** @throws DatabaseError `IllegalArgument` for a zone that does not exist */
export function parseZone(text: string): ZoneChoice {
  const offsetSeconds = parseOffset(text);
  if (offsetSeconds !== undefined) return { zone: '', offsetSeconds };
  if (text.length > zoneNameMax || !namedShape.test(text) || !isTimeZone(text))
    throw new DatabaseError('IllegalArgument', `unknown time zone '${text.slice(0, zoneNameMax)}'`);
  return { zone: text, offsetSeconds: 0 };
}

const zoneNameMax = 100;

// What the platform's tables know ends at some 275,000 years either way. The rules of the last century known repeat every 400
// years, as weekdays do, and before the first of them each zone has one offset.
const tablesEnd = daysFromCivil(2_400, 1, 1);
const tablesBegin = daysFromCivil(1_000, 1, 1);
const cycleDays = 146_097;

function dayInTables(epochDay: number): number {
  if (epochDay < tablesBegin) return tablesBegin;
  if (epochDay < tablesEnd) return epochDay;
  return tablesEnd - cycleDays + ((epochDay - tablesEnd) % cycleDays);
}

/** Offset of a named zone at a moment in UTC. */
function offsetAt(zone: TimeZone, moment: LocalDateTime): number {
  const ms = dayInTables(moment.epochDay) * msPerDay + Math.floor(moment.nanosOfDay / 1_000_000);
  return zone.offsetAt(ms) / 1_000;
}

/** A moment of UTC as it shows in a zone. */
export function inZone(moment: LocalDateTime, choice: ZoneChoice): ZonedDateTime {
  const offset =
    choice.zone === '' ? choice.offsetSeconds : offsetAt(timeZone(choice.zone), moment);
  const shown = shiftedClock(moment.epochDay, moment.nanosOfDay, offset);
  return new ZonedDateTime(requireDay(shown.epochDay), shown.nanosOfDay, offset, choice.zone);
}

/**
 * The moment at which calendar and clock of the zone show this: the earlier of two, and one that is skipped is moved forward by
 * the gap. `preferred` is taken where it is one of two.
 */
export function atZone(
  epochDay: number,
  nanosOfDay: number,
  choice: ZoneChoice,
  preferred?: number,
): ZonedDateTime {
  requireDay(epochDay);
  if (choice.zone === '') return new ZonedDateTime(epochDay, nanosOfDay, choice.offsetSeconds, '');
  const zone = timeZone(choice.zone);
  if (preferred !== undefined) {
    const there = shiftedClock(epochDay, nanosOfDay, -preferred);
    if (offsetAt(zone, there) === preferred)
      return new ZonedDateTime(epochDay, nanosOfDay, preferred, choice.zone);
  }
  const inTables = dayInTables(epochDay);
  const second = Math.floor(nanosOfDay / nanosPerSecond);
  const localMs = inTables * msPerDay + second * 1_000;
  const utcMs = zone.fromLocal(localMs);
  const offset = zone.offsetAt(utcMs) / 1_000;
  const shownMs = utcMs + offset * 1_000;
  const moved = nanosOfDay + (shownMs - localMs) * 1_000_000;
  const days = Math.floor(moved / nanosPerDay);
  return new ZonedDateTime(epochDay + days, moved - days * nanosPerDay, offset, choice.zone);
}

/** Zone and offset that a zoned value has. */
export function zoneOf(value: ZonedDateTime): ZoneChoice {
  return { zone: value.zone, offsetSeconds: value.offsetSeconds };
}

/** Day and nanosecond of so many seconds and nanoseconds since the epoch. */
export function clockOfEpoch(seconds: number, nanos: number): LocalDateTime {
  const carry = Math.floor(nanos / nanosPerSecond);
  const whole = seconds + carry;
  const day = Math.floor(whole / secondsPerDay);
  const nanosOfDay =
    (whole - day * secondsPerDay) * nanosPerSecond + (nanos - carry * nanosPerSecond);
  return new LocalDateTime(requireDay(day), nanosOfDay);
}
