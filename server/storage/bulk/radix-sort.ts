import type { Timers } from '#core/runtime.ts';

const digitBits = 16;
const digitCount = 1 << digitBits;
/** Numbers moved between two turns of the event loop: a millisecond or two. Keys are looked at a segment at a time. */
const numbersPerSlice = 32_768;

/** Keys that stand at `first`, `first + stride`, ... of segments, `2 ** segmentBits` in each but the last. */
export interface SpacedKeys {
  readonly segments: readonly Float64Array[];
  readonly segmentBits: number;
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
  keys: SpacedKeys,
  timers: Pick<Timers, 'yield'>,
): Promise<Uint32Array> {
  const { count, segments, segmentBits } = keys;
  let order = countedUp(count);
  let spare = new Uint32Array(count);
  const digits = new Uint16Array(count);
  const starts = new Uint32Array(digitCount + 1);
  for (let shift = 0; shift < 64; shift += digitBits) {
    starts.fill(0);
    for (let i = 0; i < segments.length; i++) {
      const from = i * 2 ** segmentBits;
      const to = Math.min(from + 2 ** segmentBits, count);
      countDigits(keys, i, shift, digits.subarray(from, to), starts);
      await timers.yield();
    }
    if (count === 0 || (starts[(digits[0] as number) + 1] as number) === count) continue;
    sumUp(starts);
    for (let from = 0; from < count; from += numbersPerSlice) {
      const to = Math.min(from + numbersPerSlice, count);
      distribute(order.subarray(from, to), digits, starts, spare);
      await timers.yield();
    }
    [order, spare] = [spare, order];
  }
  return order;
}

// One pass over one slice each, apart from the loop that waits: such a loop is never compiled well, and again at each stage.

/** Looks at one digit of the keys of a segment: keeps it and counts it one place up. */
function countDigits(
  { segments, first, stride }: SpacedKeys,
  segment: number,
  shift: number,
  digits: Uint16Array,
  counts: Uint32Array,
): void {
  const numbers = segments[segment] as Float64Array;
  // Shifts look at the lowest 32 bits only, those above are brought down first.
  const scale = shift < 32 ? 1 : 2 ** -32;
  const bits = shift & 31;
  for (let i = 0, at = first; i < digits.length; i++, at += stride) {
    const digit = (((numbers[at] as number) * scale) >>> bits) & (digitCount - 1);
    digits[i] = digit;
    counts[digit + 1] = (counts[digit + 1] as number) + 1;
  }
}

function countedUp(count: number): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

/** Makes of the counts where the keys with each digit begin. */
function sumUp(counts: Uint32Array): void {
  for (let digit = 1; digit < digitCount; digit++) {
    counts[digit] = (counts[digit] as number) + (counts[digit - 1] as number);
  }
}

/** Puts items where those with their digit go on. */
function distribute(
  items: Uint32Array,
  digits: Uint16Array,
  starts: Uint32Array,
  into: Uint32Array,
): void {
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as number;
    const digit = digits[item] as number;
    const at = starts[digit] as number;
    into[at] = item;
    starts[digit] = at + 1;
  }
}
