import { shortestFloat32 } from '#core/value/float32.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { doubleText } from '#core/text/text-form.ts';
import { Pieces } from '#core/text/text-in-turns.ts';
import { isList, type Value } from '#core/value/value.ts';
import { isNumeric, toDouble, wordArgument } from '../arguments.ts';

const formats = ['COMPACT', 'PRETTY', 'PYTHON', 'MATLAB', 'JULIA', 'NUMPY'] as const;
export type VectorFormat = (typeof formats)[number];

/** The format named by an argument; COMPACT for null. @throws DatabaseError `IllegalArgument` for an unknown one */
export function vectorFormatArgument(value: Value, what: string): VectorFormat {
  return value === null ? 'COMPACT' : wordArgument(value, what, formats);
}

/** A list of one or more numbers and nothing else. */
export function isVectorList(value: Value): value is readonly Value[] {
  return isList(value) && value.length > 0 && value.every(isNumeric);
}

/** Components as float32 numbers: `[0.5, 0.25, 1.0]`. */
export function formatVector(components: readonly Value[], format: VectorFormat): string {
  const { start, between, end } = signs[format];
  return start + components.map(componentText).join(between) + end;
}

/** As `formatVector`, in turns. */
export function* formatVectorInTurns(
  components: ArrayLike<Value>,
  format: VectorFormat,
  meter: WorkMeter,
): PausingWork<string> {
  const { start, between, end } = signs[format];
  const pieces = new Pieces(between);
  for (let i = 0; i < components.length; i += 1) {
    pieces.add(componentText(components[i] as Value));
    if (pieces.isFull && (pieces.isSpent(meter) || meter.isSpent(256))) yield;
  }
  return start + pieces.toText() + end;
}

function componentText(component: Value): string {
  return doubleText(shortestFloat32(Math.fround(toDouble(component))));
}

interface Signs {
  readonly start: string;
  readonly between: string;
  readonly end: string;
}

const compact: Signs = { start: '[', between: ', ', end: ']' };
const signs: Readonly<Record<VectorFormat, Signs>> = {
  COMPACT: compact,
  PYTHON: compact,
  PRETTY: { start: '[\n  ', between: ',\n  ', end: '\n]' },
  MATLAB: { start: '[', between: ' ', end: ']' },
  JULIA: { start: 'Float32[', between: ', ', end: ']' },
  NUMPY: { start: 'np.array([', between: ', ', end: '], dtype=np.float32)' },
};
