import type { Timers } from '#core/runtime.ts';

const digitBits = 16;
const digitCount = 1 << digitBits;
/** Numbers looked at or moved between two turns of the event loop: a millisecond or two. */
const numbersPerSlice = 32_768;

/** Keys that stand at `first`, `first + stride`, ... */
export interface SpacedKeys {
  readonly numbers: Float64Array;
  readonly count: number;
  readonly first: number;
  readonly stride: number;
}

/**
 * The order that sorts `count` whole numbers from 0 to 2^53 - 1, stable: key `order[0]` is the smallest. Cost: a few
 * passes over the numbers (10 ms per million and pass, with turns of the event loop in between), digits that are equal
 * everywhere cost one.
 */
export async function sortedOrder(
  { numbers, count, first, stride }: SpacedKeys,
  timers: Pick<Timers, 'yield'>,
): Promise<Uint32Array> {
  let order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  let spare = new Uint32Array(count);
  const digits = new Uint16Array(count);
  const starts = new Uint32Array(digitCount + 1);
  for (let shift = 0; shift < 64; shift += digitBits) {
    // Shifts look at the lowest 32 bits only, those above are brought down first.
    const scale = shift < 32 ? 1 : 2 ** -32;
    starts.fill(0);
    for (let i = 0; i < count; i++) {
      if (i % numbersPerSlice === numbersPerSlice - 1) await timers.yield();
      const key = numbers[first + i * stride] as number;
      const digit = ((key * scale) >>> (shift & 31)) & (digitCount - 1);
      digits[i] = digit;
      starts[digit + 1] = (starts[digit + 1] as number) + 1;
    }
    if (count === 0 || (starts[(digits[0] as number) + 1] as number) === count) continue;
    for (let digit = 1; digit < digitCount; digit++) {
      starts[digit] = (starts[digit] as number) + (starts[digit - 1] as number);
    }
    for (let i = 0; i < count; i++) {
      if (i % numbersPerSlice === numbersPerSlice - 1) await timers.yield();
      const item = order[i] as number;
      const digit = digits[item] as number;
      const at = starts[digit] as number;
      spare[at] = item;
      starts[digit] = at + 1;
    }
    [order, spare] = [spare, order];
  }
  return order;
}
