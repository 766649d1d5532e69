import type { Value } from '#core/value/value.ts';

/** Numbers in a row, of which nobody has made a list. */
export class NumberRange {
  readonly length: number;
  readonly at: (place: number) => Value;

  constructor(length: number, at: (place: number) => Value) {
    this.length = length;
    this.at = at;
  }
}
