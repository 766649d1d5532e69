import { decimalDigitsMax, parseDecimal } from './decimal.ts';
import { type NumberLimits, oversizeOf, parseDouble, parseInteger } from './number-text.ts';
import { double, type Value } from './value.ts';

/** Longer ones are refused without a look at the rest: no limit lets them pass. */
export const numberLengthMax = 32 * 1024;

/** Numbers of JSON: what `read` found is told by its fields, so that short ones cost no object. */
export class JsonNumbers {
  readonly #limits: NumberLimits;
  /** Behind the number, or the place of the fault. */
  end = 0;
  /** What is wrong with it. */
  fault: string | undefined;

  constructor(limits: NumberLimits) {
    this.#limits = limits;
  }

  /** @returns null where `fault` is set */
  read(text: string, start: number): Value {
    const first = text.charCodeAt(start) === 45 ? start + 1 : start;
    const position = digitsEnd(text, first);
    const digitCount = position - first;
    if (digitCount === 0) return this.#fail(start, 'expected a value');
    if (digitCount > 1 && text.charCodeAt(first) === 48)
      return this.#fail(start, 'a number has a leading zero');
    const unit = text.charCodeAt(position);
    if (unit === 46 || unit === 101 || unit === 69) return this.#double(text, start, position);
    this.end = position;
    if (digitCount <= 15) return Number(text.slice(start, position)) + 0;
    return this.#longInteger(text, start, position);
  }

  #longInteger(text: string, start: number, end: number): Value {
    if (end - start > numberLengthMax) return this.#tooLong(start);
    const digits = text.slice(start, end);
    const problem = this.#oversize(digits, 0);
    if (problem !== undefined) return this.#fail(start, problem);
    const n =
      parseInteger(digits) ??
      (parseDouble(digits) === undefined ? undefined : parseDecimal(digits));
    return n ?? this.#fail(start, numberOutside);
  }

  #double(text: string, start: number, wholeEnd: number): Value {
    let position = wholeEnd;
    if (text.charCodeAt(position) === 46) {
      const end = digitsEnd(text, position + 1);
      if (end - start > numberLengthMax) return this.#tooLong(start);
      if (end === position + 1) return this.#fail(end, 'expected a digit');
      position = end;
    }
    const mantissaEnd = position;
    const unit = text.charCodeAt(position);
    if (unit === 101 || unit === 69) {
      position++;
      const sign = text.charCodeAt(position);
      if (sign === 43 || sign === 45) position++;
      const end = digitsEnd(text, position);
      if (end - start > numberLengthMax) return this.#tooLong(start);
      if (end === position) return this.#fail(end, 'expected a digit');
      position = end;
    }
    this.end = position;
    const exponent = position === mantissaEnd ? 0 : Number(text.slice(mantissaEnd + 1, position));
    const number = text.slice(start, position);
    const problem = this.#oversize(text.slice(start, mantissaEnd), exponent);
    if (problem !== undefined) return this.#fail(start, problem);
    const n = parseDouble(number);
    if (n === undefined) return this.#fail(start, numberOutside);
    const isExact = mantissaEnd - start > doubleDigitsMax && exceedsDouble(number);
    return (isExact ? parseDecimal(number) : undefined) ?? double(n);
  }

  /** @param mantissa with sign and point, which makes no difference worth a scan where it is short */
  #oversize(mantissa: string, exponent: number): string | undefined {
    const { digitsMax, exponentMax } = this.#limits;
    if (mantissa.length <= digitsMax && Math.abs(exponent) <= exponentMax) return undefined;
    return oversizeOf(mantissa.replace(/[^0-9]/g, '').length, exponent, this.#limits);
  }

  #tooLong(start: number): null {
    const { digitsMax } = this.#limits;
    return this.#fail(
      start,
      `number with more than ${numberLengthMax} characters, more than the limit of ${digitsMax} digits (service.queryMaxNumberDigits)`,
    );
  }

  #fail(position: number, fault: string): null {
    this.end = position;
    this.fault = fault;
    return null;
  }
}

function digitsEnd(text: string, start: number): number {
  let position = start;
  for (;;) {
    const unit = text.charCodeAt(position);
    if (!(unit >= 48 && unit <= 57)) return position;
    position++;
  }
}

/** A double is told apart from all others by as many significant digits. */
const doubleDigitsMax = 17;

/** Whether a number of JSON has more digits than a double keeps (http-api.md 1); zeros at its ends are none. */
export function exceedsDouble(number: string): boolean {
  const [mantissa = ''] = number.split(/[eE]/, 1);
  const digits = mantissa.replace(/^-?[0.]*/, '').replace(/[0.]*$/, '');
  return digits.replace('.', '').length > doubleDigitsMax;
}

const numberOutside = `number outside the range of a double, or above ${decimalDigitsMax} digits`;
