import { DatabaseError } from '../errors.ts';
import { epochMsMax, msPerDay } from './temporal.ts';

/**
 * Offsets of time zones, from the platform's tables through `Intl`. Asking `Intl` costs microseconds, so each zone
 * remembers its offsets by day; a day with a change of offset remembers the moment of the change.
 */
export interface TimeZone {
  readonly id: string;
  /** Milliseconds to add to UTC to get local time at this moment. */
  offsetAt(epochMs: number): number;
  /**
   * The moment at which the clock shows `localMs` (milliseconds since 1970-01-01T00:00 on the local clock). A time that
   * the clock shows twice is the earlier one; a time that it skips moves forward by the gap.
   */
  fromLocal(localMs: number): number;
  /** Short name (`UTC`, `GMT+2`, `EST`) at this moment. */
  nameAt(epochMs: number): string;
}

const zones = new Map<string, TimeZone>();
const zoneCountMax = 1_000;

/**
 * The zone with this id: an IANA name (`Europe/Rome`), `UTC`, `GMT`, `Z`, or a fixed offset (`+02:00`).
 * @throws DatabaseError `IllegalArgument` for an unknown id
 */
export function timeZone(id: string): TimeZone {
  const known = zones.get(id);
  if (known) return known;
  const zone = fixedZone(id) ?? tableZone(id);
  if (zones.size >= zoneCountMax) zones.clear();
  zones.set(id, zone);
  return zone;
}

/** True when `timeZone` accepts the id. */
export function isTimeZone(id: string): boolean {
  if (fixedZone(id)) return true;
  try {
    offsetFormat(id);
    return true;
  } catch {
    return false;
  }
}

const fixedShape = /^(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?$/;

function fixedZone(id: string): TimeZone | undefined {
  if (id === 'UTC' || id === 'GMT' || id === 'Z' || id === 'Etc/UTC') return fixedOffset(id, 0);
  const match = fixedShape.exec(id);
  if (!match) return undefined;
  const [, sign, hours, minutes = '0', seconds = '0'] = match;
  if (Number(hours) > 18 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return fixedOffset(id, (sign === '-' ? -total : total) * 1_000);
}

function fixedOffset(id: string, offsetMs: number): TimeZone {
  const name = id === 'Z' ? 'UTC' : id;
  return {
    id,
    offsetAt: () => offsetMs,
    fromLocal: (localMs) => localMs - offsetMs,
    nameAt: () => name,
  };
}

function offsetFormat(id: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', { timeZone: id, timeZoneName: 'longOffset' });
}

function tableZone(id: string): TimeZone {
  let format: Intl.DateTimeFormat;
  try {
    format = offsetFormat(id);
  } catch (cause) {
    throw new DatabaseError('IllegalArgument', `unknown time zone '${id}'`, { cause });
  }
  return new TableZone(id, format);
}

/** A day during which the offset is `before` up to `changeMs`, then `after`. Days without a change have equal offsets. */
interface DayOffsets {
  readonly changeMs: number;
  readonly before: number;
  readonly after: number;
}

const dayCountMax = 100_000;

class TableZone implements TimeZone {
  readonly id: string;
  readonly #format: Intl.DateTimeFormat;
  #names: Intl.DateTimeFormat | undefined;
  readonly #days = new Map<number, DayOffsets>();

  constructor(id: string, format: Intl.DateTimeFormat) {
    this.id = id;
    this.#format = format;
  }

  offsetAt(epochMs: number): number {
    const day = Math.floor(epochMs / msPerDay);
    let offsets = this.#days.get(day);
    if (offsets === undefined) {
      offsets = this.#offsetsOfDay(day);
      if (this.#days.size >= dayCountMax) this.#days.clear();
      this.#days.set(day, offsets);
    }
    return epochMs < offsets.changeMs ? offsets.before : offsets.after;
  }

  fromLocal(localMs: number): number {
    // No zone is a day or more away from UTC, so these are the offsets before and after any change near this time.
    const before = this.offsetAt(localMs - msPerDay);
    const after = this.offsetAt(localMs + msPerDay);
    if (before === after || this.offsetAt(localMs - before) === before) return localMs - before;
    if (this.offsetAt(localMs - after) === after) return localMs - after;
    return localMs - before;
  }

  nameAt(epochMs: number): string {
    this.#names ??= new Intl.DateTimeFormat('en-US', { timeZone: this.id, timeZoneName: 'short' });
    return partNamed(this.#names, epochMs);
  }

  #offsetsOfDay(day: number): DayOffsets {
    const start = day * msPerDay;
    const end = start + msPerDay;
    const before = this.#ask(start);
    const after = this.#ask(end - 1);
    if (before === after) return { changeMs: start, before, after };
    let low = start;
    let high = end - 1;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#ask(middle) === before) low = middle;
      else high = middle;
    }
    return { changeMs: high, before, after };
  }

  #ask(epochMs: number): number {
    const clamped = Math.max(-epochMsMax, Math.min(epochMsMax, epochMs));
    return parseOffset(partNamed(this.#format, clamped));
  }
}

function partNamed(format: Intl.DateTimeFormat, epochMs: number): string {
  for (const part of format.formatToParts(epochMs))
    if (part.type === 'timeZoneName') return part.value;
  return 'UTC';
}

const offsetShape = /([+-−])(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?/;

function parseOffset(text: string): number {
  const match = offsetShape.exec(text);
  if (!match) return 0;
  const [, sign, hours, minutes = '0', seconds = '0'] = match;
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return (sign === '+' ? total : -total) * 1_000;
}
