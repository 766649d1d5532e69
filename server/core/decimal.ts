/**
 * An exact decimal: `unscaled / 10^scale`. The scale is kept as given (`10.50` has scale 2) and never negative.
 */
export class Decimal {
  readonly valueKind = 'decimal';
  readonly unscaled: bigint;
  readonly scale: number;
  constructor(unscaled: bigint, scale: number) {
    this.unscaled = unscaled;
    this.scale = scale;
  }
}
