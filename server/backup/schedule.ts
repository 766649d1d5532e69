import { Cron } from 'croner';

// When a backup is due. Pure: moments come in and go out as epoch milliseconds; days and hours are those of the server's time
// zone (http-api.md 18.2).

/** Gives the next moment of a schedule. */
export interface Schedule {
  /** Strictly after `epochMs`; undefined when there is none any more. */
  next(epochMs: number): number | undefined;
}

const fieldShape = /^[0-9A-Za-z*?,/-]+$/;
const fieldCount = 6;

/**
 * A schedule of six fields: second, minute, hour, day of month, month, day of week.
 * @throws Error saying what is wrong with the expression, also for one that no date fulfils
 */
export function cronSchedule(expression: string): Schedule {
  const cron = readCron(expression);
  if (!hasDate(cron)) throw new Error(`no date fulfils the expression '${expression}'`);
  return { next: (epochMs) => cron.nextRun(new Date(epochMs))?.getTime() };
}

/**
 * Whether there is a date that fulfils the expression: 30 February is none.
 * @throws Error saying what is wrong with the form of the expression
 */
export function isPossibleCron(expression: string): boolean {
  return hasDate(readCron(expression));
}

function readCron(expression: string): Cron {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== fieldCount)
    throw new Error(`the expression has ${fields.length} fields, not ${fieldCount}`);
  for (const field of fields)
    if (!fieldShape.test(field) || /[LW#]/i.test(field.replace(/[A-Za-z]{3}/g, '')))
      throw new Error(`the field '${field.slice(0, 40)}' of the expression is not understood`);
  const pattern = fields.map((field) => field.replaceAll('?', '*')).join(' ');
  return new Cron(pattern, { paused: true, mode: '6-part', sloppyRanges: true });
}

/** Asked from 2000-01-01, so that the answer does not depend on the day. */
function hasDate(cron: Cron): boolean {
  return cron.nextRun(new Date(946_684_800_000)) !== null;
}

/** Every so many minutes, the first time one period after it was set up. */
export function frequencySchedule(minutes: number): Schedule {
  return { next: (epochMs) => epochMs + minutes * 60_000 };
}

/** Whether the moment lies in the window; both ends are inside, to the minute, and a window may wrap midnight. */
export function isInWindow(
  epochMs: number,
  window: { readonly start: string; readonly end: string } | undefined,
): boolean {
  if (window === undefined) return true;
  const date = new Date(epochMs);
  const minute = date.getHours() * 60 + date.getMinutes();
  const start = minuteOf(window.start);
  const end = minuteOf(window.end);
  return start <= end ? minute >= start && minute <= end : minute >= start || minute <= end;
}

function minuteOf(text: string): number {
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
}
