import {
  addDecimals,
  type Decimal,
  decimalOfDouble,
  decimalOfInteger,
} from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import { double, integer, int64Max, int64Min, isList, type Value } from '#core/value/value.ts';
import { describe, isNumeric, refusal, toDouble } from '../arguments.ts';

/**
 * A sum that widens as `+` does: integers stay exact, one double makes it a double, one decimal a decimal. Plain numbers
 * cost no allocation. The int64 range is checked at the end, so the order of the rows does not matter.
 */
export class NumericSum {
  /** Numbers added so far; nulls are skipped and lists count by their elements. */
  count = 0;
  #whole = 0;
  #carried = 0n;
  #real = 0;
  #hasReal = false;
  #decimal: Decimal | undefined;

  /** @throws DatabaseError `IllegalArgument` naming `what` for a value that is no number */
  add(value: Value, what: string): void {
    if (typeof value === 'number') {
      this.count++;
      if (Number.isInteger(value)) this.#addWhole(value);
      else this.#addReal(value);
    } else if (isList(value)) {
      for (let i = 0; i < value.length; i++) this.add(value[i] as Value, what);
    } else if (value !== null) this.#addOther(value, what);
  }

  #addWhole(value: number): void {
    const sum = this.#whole + value;
    if (Number.isSafeInteger(sum)) this.#whole = sum;
    else {
      this.#carried += BigInt(this.#whole);
      this.#whole = value;
    }
  }

  #addReal(value: number): void {
    this.#hasReal = true;
    this.#real += value;
  }

  #addOther(value: Exclude<Value, null>, what: string): void {
    if (!isNumeric(value)) throw refusal(`${what} requires numbers, not ${describe(value)}`);
    this.count++;
    if (typeof value === 'bigint') this.#carried += value;
    else if ((value as Decimal).valueKind === 'decimal')
      this.#decimal = this.#decimal
        ? addDecimals(this.#decimal, value as Decimal)
        : (value as Decimal);
    else this.#addReal(toDouble(value));
  }

  /** The sum as a double, whatever was added. */
  toDouble(): number {
    let sum = this.#real + this.#whole;
    if (this.#carried !== 0n) sum = this.#real + Number(this.#carried + BigInt(this.#whole));
    return this.#decimal ? sum + toDouble(this.#decimal) : sum;
  }

  /** @throws DatabaseError `Arithmetic` when integers leave the int64 range */
  total(): Value {
    if (this.#decimal) return this.#decimalTotal(this.#decimal);
    if (this.#hasReal) return double(this.toDouble());
    if (this.#carried === 0n) return this.#whole;
    const total = this.#carried + BigInt(this.#whole);
    if (total > int64Max || total < int64Min)
      throw new DatabaseError('Arithmetic', 'long overflow');
    return integer(total);
  }

  #decimalTotal(decimal: Decimal): Value {
    const real = decimalOfDouble(this.#real);
    if (real === undefined) return double(this.toDouble());
    const whole = decimalOfInteger(this.#carried + BigInt(this.#whole));
    return addDecimals(addDecimals(decimal, whole), real);
  }
}
