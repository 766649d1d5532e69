import { DatabaseError } from '../errors.ts';
import { civilFromDays, dayOfWeek, daysFromCivil, daysInMonth, isLeapYear } from './temporal.ts';

/** Days of the proleptic Gregorian calendar by month, week, quarter and ordinal day, of the years of cypher.md 8. */

export const yearMax = 999_999_999;
const firstDay = daysFromCivil(-yearMax, 1, 1);
const lastDay = daysFromCivil(yearMax, 12, 31);

export function invalid(text: string): DatabaseError {
  return new DatabaseError('IllegalArgument', text);
}

/** @throws DatabaseError `IllegalArgument` for days of years beyond `yearMax` */
export function requireDay(epochDay: number): number {
  if (epochDay >= firstDay && epochDay <= lastDay) return epochDay;
  throw invalid(`the date is outside of the years -${yearMax} to ${yearMax}`);
}

/** @throws DatabaseError `IllegalArgument` naming the part that is out of range */
export function requirePart(name: string, n: number, min: number, max: number): number {
  if (n >= min && n <= max) return n;
  throw invalid(`${name} ${n} is not within ${min} and ${max}`);
}

export function dayOfCalendar(year: number, month: number, day: number): number {
  requirePart('year', year, -yearMax, yearMax);
  requirePart('month', month, 1, 12);
  requirePart('day', day, 1, 31);
  if (day > daysInMonth(year, month)) throw invalid(`there is no day ${day} in ${year}-${month}`);
  return daysFromCivil(year, month, day);
}

/** The day of an ISO week; `year` is that of the week. */
export function dayOfWeekDate(year: number, week: number, weekDay: number): number {
  requirePart('year', year, -yearMax, yearMax);
  requirePart('week', week, 1, 53);
  requirePart('dayOfWeek', weekDay, 1, 7);
  if (week === 53 && weeksInYear(year) < 53) throw invalid(`there is no week 53 in ${year}`);
  return requireDay(firstMonday(year) + (week - 1) * 7 + weekDay - 1);
}

export function dayOfQuarterDate(year: number, quarter: number, dayOfQuarter: number): number {
  requirePart('year', year, -yearMax, yearMax);
  requirePart('quarter', quarter, 1, 4);
  const first = daysFromCivil(year, quarter * 3 - 2, 1);
  const length = firstOfNextQuarter(year, quarter) - first;
  return first + requirePart('dayOfQuarter', dayOfQuarter, 1, length) - 1;
}

export function dayOfOrdinalDate(year: number, ordinalDay: number): number {
  requirePart('year', year, -yearMax, yearMax);
  requirePart('ordinalDay', ordinalDay, 1, isLeapYear(year) ? 366 : 365);
  return daysFromCivil(year, 1, 1) + ordinalDay - 1;
}

function firstOfNextQuarter(year: number, quarter: number): number {
  return quarter === 4 ? daysFromCivil(year + 1, 1, 1) : daysFromCivil(year, quarter * 3 + 1, 1);
}

/** The Monday of week 1, which holds January 4th. */
export function firstMonday(weekYear: number): number {
  const fourth = daysFromCivil(weekYear, 1, 4);
  return fourth - dayOfWeek(fourth) + 1;
}

function weeksInYear(year: number): number {
  return (firstMonday(year + 1) - firstMonday(year)) / 7;
}

/** The day so many months later, or the last one of that month. */
export function plusMonths(epochDay: number, months: number): number {
  if (months === 0) return epochDay;
  const { year, month, day } = civilFromDays(epochDay);
  const count = year * 12 + month - 1 + months;
  const newYear = requirePart('year', Math.floor(count / 12), -yearMax, yearMax);
  const newMonth = count - newYear * 12 + 1;
  return daysFromCivil(newYear, newMonth, Math.min(day, daysInMonth(newYear, newMonth)));
}
