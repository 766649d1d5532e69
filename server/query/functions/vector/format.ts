import { shortestFloat32 } from '#core/float32.ts';
import { doubleText } from '#core/text-form.ts';
import { isList, type Value } from '#core/value.ts';
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
  const texts = components.map((component) =>
    doubleText(shortestFloat32(Math.fround(toDouble(component)))),
  );
  switch (format) {
    case 'COMPACT':
    case 'PYTHON':
      return `[${texts.join(', ')}]`;
    case 'PRETTY':
      return `[\n  ${texts.join(',\n  ')}\n]`;
    case 'MATLAB':
      return `[${texts.join(' ')}]`;
    case 'JULIA':
      return `Float32[${texts.join(', ')}]`;
    case 'NUMPY':
      return `np.array([${texts.join(', ')}], dtype=np.float32)`;
  }
}
