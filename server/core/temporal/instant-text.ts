import type {
  CypherDuration,
  Instant,
  LocalDateTime,
  LocalTime,
  ZonedDateTime,
  ZonedTime,
} from './instants.ts';
import { nanosPerSecond } from './instants.ts';
import { civilFromDays } from './temporal.ts';

/** Text forms of cypher.md 8, which JSON answers and `toString` show and the constructors read back. */

/** `12:31:14.645+01:00`, `1984-10-11T12:31`, `...+01:00[Europe/Stockholm]` */
export function instantText(value: Instant): string {
  switch (value.valueKind) {
    case 'localTime':
      return isoTime((value satisfies LocalTime).nanosOfDay);
    case 'zonedTime':
      return isoTime(value.nanosOfDay) + isoOffset((value satisfies ZonedTime).offsetSeconds);
    case 'localDateTime':
      return isoClock(value);
    case 'zonedDateTime': {
      const zone = value.zone === '' ? '' : `[${value.zone}]`;
      return `${isoClock(value)}${isoOffset(value.offsetSeconds)}${zone}`;
    }
  }
}

function isoClock(value: LocalDateTime | ZonedDateTime): string {
  return `${isoDate(value.epochDay)}T${isoTime(value.nanosOfDay)}`;
}

/** `1984-10-11`; years beyond four digits have a sign. */
export function isoDate(epochDay: number): string {
  const { year, month, day } = civilFromDays(epochDay);
  return `${isoYear(year)}-${two(month)}-${two(day)}`;
}

function isoYear(year: number): string {
  const digits = String(Math.abs(year)).padStart(4, '0');
  if (year < 0) return `-${digits}`;
  return year > 9_999 ? `+${digits}` : digits;
}

/** `12:31`, with seconds where they or a fraction are not 0; a fraction of 3, 6 or 9 digits. */
export function isoTime(nanosOfDay: number): string {
  const seconds = Math.floor(nanosOfDay / nanosPerSecond);
  const nanos = nanosOfDay - seconds * nanosPerSecond;
  const minute = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}`;
  if (nanos === 0 && seconds % 60 === 0) return minute;
  const digits = String(nanos).padStart(9, '0');
  const width = nanos === 0 ? 0 : nanos % 1_000_000 === 0 ? 3 : nanos % 1_000 === 0 ? 6 : 9;
  return `${minute}:${two(seconds % 60)}${width === 0 ? '' : `.${digits.slice(0, width)}`}`;
}

/** `Z`, `+01:00`, `+00:53:28` */
export function isoOffset(offsetSeconds: number): string {
  if (offsetSeconds === 0) return 'Z';
  const total = Math.abs(offsetSeconds);
  const seconds = total % 60 === 0 ? '' : `:${two(total % 60)}`;
  const sign = offsetSeconds < 0 ? '-' : '+';
  return `${sign}${two(Math.floor(total / 3_600))}:${two(Math.floor(total / 60) % 60)}${seconds}`;
}

function two(n: number): string {
  return n < 10 ? `0${n}` : String(n);
}

/** `P1Y2M3DT4H5M6.7S`; parts that are 0 are left out, each part has its sign. */
export function cypherDurationText(length: CypherDuration): string {
  const years = Math.trunc(length.months / 12);
  let text = part(years, 'Y') + part(length.months - years * 12, 'M') + part(length.days, 'D');
  const time = timeText(length.seconds, length.nanos);
  if (time !== '') text += `T${time}`;
  return text === '' ? 'PT0S' : `P${text}`;
}

function timeText(seconds: number | bigint, nanos: number): string {
  const total = BigInt(seconds);
  // Nanoseconds count up from the second below: a negative length shows their complement.
  const isNegative = total < 0n;
  const hasComplement = isNegative && nanos !== 0;
  const signed = hasComplement ? total + 1n : total;
  const whole = isNegative ? -signed : signed;
  const rest = hasComplement ? nanosPerSecond - nanos : nanos;
  const sign = isNegative ? -1 : 1;
  const hours = whole / 3_600n;
  const ofHour = Number(whole - hours * 3_600n);
  const text = part(isNegative ? -hours : hours, 'H') + part(sign * Math.floor(ofHour / 60), 'M');
  const second = ofHour % 60;
  if (rest === 0) return text + part(sign * second, 'S');
  const fraction = String(rest).padStart(9, '0').replace(/0+$/, '');
  return `${text}${isNegative ? '-' : ''}${second}.${fraction}S`;
}

function part(count: number | bigint, unit: string): string {
  return Number(count) === 0 ? '' : `${count}${unit}`;
}
