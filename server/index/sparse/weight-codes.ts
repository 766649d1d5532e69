/**
 * How weights stand in entries. A code tells between which bounds its weight lies; who needs the weight itself reads the record. So
 * a search is exact with every code, and a coarser one only looks at more records.
 */
export interface WeightCode {
  /** Bytes. */
  readonly size: number;
  readonly isExact: boolean;
  write(view: DataView, at: number, weight: number): void;
  /** The bounds are float32 numbers. */
  low(view: DataView, at: number): number;
  high(view: DataView, at: number): number;
}

const single: WeightCode = {
  size: 4,
  isExact: true,
  write: (view, at, weight) => view.setFloat32(at, weight),
  low: (view, at) => view.getFloat32(at),
  high: (view, at) => view.getFloat32(at),
};

/** The upper half of a float32: sign, exponent and 7 bits of the fraction, cut towards zero; it has the range of a float32. */
const half: WeightCode = {
  size: 2,
  isExact: false,
  write(view, at, weight) {
    scratch.setFloat32(0, weight);
    view.setUint16(at, scratch.getUint16(0));
  },
  low: (view, at) => bounded(view.getUint16(at) << 16, 0xffff, 'low'),
  high: (view, at) => bounded(view.getUint16(at) << 16, 0xffff, 'high'),
};

/** One byte: the sign and four steps for each power of two from 2^-16 to 2^15, which all lower and higher ones share. */
const byte: WeightCode = {
  size: 1,
  isExact: false,
  write(view, at, weight) {
    scratch.setFloat32(0, Math.abs(weight));
    const step = Math.floor(scratch.getUint32(0) / 2 ** 21);
    const code = Math.max(0, Math.min(127, step - firstStep));
    view.setUint8(at, code | (weight < 0 ? 0x80 : 0));
  },
  low: (view, at) => byteBound(view.getUint8(at), 'low'),
  high: (view, at) => byteBound(view.getUint8(at), 'high'),
};

const scratch = new DataView(new ArrayBuffer(4));
/** The largest float32: weights are finite. */
const largest = (2 - 2 ** -23) * 2 ** 127;
/** The step of 2^-16: its exponent with two bits of the fraction. */
const firstStep = (127 - 16) * 4;

/** A bound on numbers that share the upper bits of a float32. */
function bounded(upper: number, rest: number, end: 'low' | 'high'): number {
  scratch.setInt32(0, upper);
  const nearer = scratch.getFloat32(0);
  scratch.setInt32(0, upper | rest);
  const farther = scratch.getFloat32(0);
  return end === 'low' ? Math.min(nearer, farther) : Math.max(nearer, farther);
}

function byteBound(code: number, end: 'low' | 'high'): number {
  const step = code & 0x7f;
  const nearer = step === 0 ? 0 : stepValue(step);
  const farther = step === 127 ? largest : stepValue(step + 1);
  if ((code & 0x80) === 0) return end === 'low' ? nearer : farther;
  return end === 'low' ? -farther : -nearer;
}

function stepValue(step: number): number {
  scratch.setUint32(0, (step + firstStep) * 2 ** 21);
  return scratch.getFloat32(0);
}

/** `INT8` is the default. */
export function weightCode(name: string): WeightCode {
  if (name === 'FP32') return single;
  return name === 'FP16' ? half : byte;
}
