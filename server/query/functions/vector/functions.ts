import { double, isList, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  describe,
  isNumeric,
  numberArgument,
  refusal,
  toDouble,
  wordArgument,
} from '../arguments.ts';
import { inTurns, method, nullSafe, scalar } from '../define.ts';
import {
  cosineSimilarity,
  dotProduct,
  l1Norm,
  largestMagnitude,
  magnitude,
  manhattanDistance,
  normalize,
  sparsity,
  squaredDistance,
  type Vector,
  varianceOf,
} from './arithmetic.ts';
import { requireSameLength, vectorArgument, vectorOf, vectorPair } from './arguments.ts';
import { givingSparse, givingVector } from './giving-vectors.ts';
import { formatVector, formatVectorInTurns, vectorFormatArgument } from './format.ts';
import { makeSparse, sparseArgument, sparseDot, toDense, toSparse } from './sparse.ts';

/** Computations on vectors (sql-functions.md 8): distances, arithmetic, measures, sparse vectors. */
export const vectorFunctions: readonly ScalarFunction[] = [
  ofPair('dotProduct', dotProduct),
  ofPair('cosineSimilarity', cosineSimilarity),
  ofPair('l2Distance', (a, b) => Math.sqrt(squaredDistance(a, b))),
  ofPair('l1Distance', manhattanDistance),
  ofPair('manhattanDistance', manhattanDistance),
  withScalar('vector.add(a, b | scalar)', (x, y) => x + y),
  withScalar('vector.subtract(a | scalar, b | scalar)', (x, y) => x - y),
  givingVector(scalar, 'vector.multiply(a, b)', [2, 2], (args) => {
    const { a, b } = vectorPair(args, 'vector.multiply()');
    return a.map((component, i) => component * (b[i] as number));
  }),
  givingVector(scalar, 'vector.scale(a, s)', [2, 2], (args) => {
    const factor = numberArgument(args[1], 'vector.scale()');
    const vector = vectorArgument(args[0], 'vector.scale()');
    return vector.map((component) => component * factor);
  }),
  givingVector(scalar, 'vector.normalize(a)', [1, 1], (args) =>
    normalize(vectorArgument(args[0], 'vector.normalize()')),
  ),
  ofVector('magnitude', magnitude),
  ofVector('l1Norm', l1Norm),
  ofVector('lInfNorm', largestMagnitude),
  scalar(
    'vector.dimension(a)',
    [1, 1],
    (args) => vectorArgument(args[0], 'vector.dimension()').length,
  ),
  nullSafe('vector.variance(a)', [1, 1], (args) =>
    double(varianceOf(vectorArgument(args[0], 'vector.variance()'))),
  ),
  nullSafe('vector.stdDev(a)', [1, 1], (args) =>
    double(Math.sqrt(varianceOf(vectorArgument(args[0], 'vector.stdDev()')))),
  ),
  givingVector(scalar, 'vector.clip(a, lo, hi)', [3, 3], (args) => {
    const vector = vectorArgument(args[0], 'vector.clip()');
    const low = numberArgument(args[1], 'vector.clip()');
    const high = numberArgument(args[2], 'vector.clip()');
    if (low > high) throw refusal(`vector.clip() requires lo <= hi, not ${low} and ${high}`);
    return vector.map((component) => Math.min(high, Math.max(low, component)));
  }),
  nullSafe('vector.isNormalized(a [, tol])', [1, 2], (args) => {
    const tolerance = optionalNumber(args[1], 0.001, 'vector.isNormalized()');
    return Math.abs(magnitude(vectorArgument(args[0], 'vector.isNormalized()')) - 1) <= tolerance;
  }),
  anyComponent('hasNaN', (component) => isNumeric(component) && Number.isNaN(toDouble(component))),
  anyComponent(
    'hasInf',
    (component) => isNumeric(component) && Math.abs(toDouble(component)) === Infinity,
  ),
  anyComponent('hasNull', (component) => component === null),
  nullSafe('vector.sparsity(a [, threshold [, mode]])', [1, 3], (args) => {
    const threshold = optionalNumber(args[1], 0.00034526698, 'vector.sparsity()');
    const mode = wordArgument(args[2] ?? 'FRACTION', 'vector.sparsity()', [
      'FRACTION',
      'L0',
      'GMEAN',
    ]);
    const result = sparsity(vectorArgument(args[0], 'vector.sparsity()'), threshold, mode);
    return mode === 'L0' ? result : double(result);
  }),
  inTurns(
    nullSafe('vector.toString(a [, format])', [1, 2], (args) => {
      const format = vectorFormatArgument(args[1] ?? null, 'vector.toString()');
      const vector = vectorArgument(args[0], 'vector.toString()');
      return formatVector([...vector], format);
    }),
    ([value, form = null], _context, meter) => {
      const format = vectorFormatArgument(form, 'vector.toString()');
      return formatVectorInTurns(vectorArgument(value, 'vector.toString()'), format, meter);
    },
  ),
  givingSparse(nullSafe, 'vector.sparseCreate(idx, val [, dims])', [2, 3], (args) =>
    makeSparse(args[0], args[1], args[2], 'vector.sparseCreate()'),
  ),
  nullSafe('vector.sparseDot(s1, s2)', [2, 2], (args) => {
    if (args[1] === null) return null;
    const what = 'vector.sparseDot()';
    return sparseDot(sparseArgument(args[0], what), sparseArgument(args[1], what));
  }),
  givingVector(scalar, 'vector.sparseToDense(s)', [1, 1], (args) =>
    toDense(sparseArgument(args[0], 'vector.sparseToDense()')),
  ),
  givingSparse(nullSafe, 'vector.denseToSparse(a [, threshold])', [1, 2], (args) => {
    const threshold = optionalNumber(args[1], 0, 'vector.denseToSparse()');
    return toSparse(vectorArgument(args[0], 'vector.denseToSparse()'), threshold);
  }),
];

export const vectorMethods: readonly ScalarFunction[] = [
  givingVector(method, 'asVector()', [0, 0], (args) => vectorOf(args[0], 'asVector()')),
  givingSparse(method, 'asSparse([threshold])', [0, 1], (args) => {
    const threshold = optionalNumber(args[1], 0, 'asSparse()');
    return toSparse(vectorOf(args[0], 'asSparse()'), threshold);
  }),
];

function ofPair(name: string, compute: (a: Vector, b: Vector) => number): ScalarFunction {
  return scalar(`vector.${name}(a, b)`, [2, 2], (args) => {
    const { a, b } = vectorPair(args, `vector.${name}()`);
    return double(compute(a, b));
  });
}

/** Empty vectors have a measure of 0. */
function ofVector(name: string, compute: (a: Vector) => number): ScalarFunction {
  return scalar(`vector.${name}(a)`, [1, 1], (args) =>
    double(compute(vectorOf(args[0], `vector.${name}()`))),
  );
}

/** Component by component; a number stands for a vector of it. */
function withScalar(syntax: string, compute: (x: number, y: number) => number): ScalarFunction {
  const what = `${syntax.slice(0, syntax.indexOf('('))}()`;
  return givingVector(scalar, syntax, [2, 2], (args) => {
    const [left, right] = args as [Value, Value];
    if (isNumeric(left) && isNumeric(right))
      throw refusal(`${what} requires a vector, not ${describe(left)} and ${describe(right)}`);
    if (isNumeric(left)) {
      const x = toDouble(left);
      return vectorArgument(right, what).map((y) => compute(x, y));
    }
    const a = vectorArgument(left, what);
    if (isNumeric(right)) {
      const y = toDouble(right);
      return a.map((x) => compute(x, y));
    }
    const b = vectorArgument(right, what);
    requireSameLength(a, b, what);
    return a.map((x, i) => compute(x, b[i] as number));
  });
}

function anyComponent(name: string, holds: (component: Value) => boolean): ScalarFunction {
  return nullSafe(`vector.${name}(a)`, [1, 1], (args) => {
    const vector = args[0] as Value;
    return isList(vector)
      ? vector.some(holds)
      : [...vectorOf(vector, `vector.${name}()`)].some(holds);
  });
}

export function optionalNumber(value: Value | undefined, otherwise: number, what: string): number {
  return value === undefined || value === null ? otherwise : numberArgument(value, what);
}
