import type { Value } from '#core/value/value.ts';
import { approximateBytes } from './held-bytes.ts';
import { byteEstimateOf } from './value-size.ts';

/** Asks what a row of a search takes in memory, which is then known to who asks for the list of them. */
export function measured(row: Value): void {
  approximateBytes(row);
  byteEstimateOf(row);
}
