import { double, isList, isMap, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  describe,
  listArgument,
  mapArgument,
  numberArgument,
  optionsArgument,
  refusal,
  wordArgument,
} from '../arguments.ts';
import { ANY_NUMBER, nullSafe, scalar } from '../define.ts';
import {
  dequantizeInt8,
  hammingDistance,
  normalizeScores,
  quantizeBinary,
  quantizeInt8,
  squaredDistance,
} from './arithmetic.ts';
import { requireSameLength, vectorArgument, vectorOf } from './arguments.ts';
import { givingVector } from './giving-vectors.ts';
import { optionalNumber } from './functions.ts';

/** Quantization and scores (sql-functions.md 8). A quantized vector is a map: `{bytes, min, max}` or `{bits, dimensions}`. */
export const scoreFunctions: readonly ScalarFunction[] = [
  nullSafe('vector.quantizeInt8(a)', [1, 1], (args) => {
    const { bytes, min, max } = quantizeInt8(vectorArgument(args[0], 'vector.quantizeInt8()'));
    return new Map<string, Value>([
      ['bytes', new Uint8Array(bytes.buffer)],
      ['min', double(min)],
      ['max', double(max)],
    ]);
  }),
  nullSafe('vector.quantizeBinary(a)', [1, 1], (args) => {
    const vector = vectorArgument(args[0], 'vector.quantizeBinary()');
    return new Map<string, Value>([
      ['bits', quantizeBinary(vector)],
      ['dimensions', vector.length],
    ]);
  }),
  givingVector(scalar, 'vector.dequantizeInt8(q | bytes, min, max)', [1, 3], (args) => {
    const what = 'vector.dequantizeInt8()';
    const source = args[0] as Value;
    const map = isMap(source) ? source : undefined;
    if (map === undefined && args.length !== 3)
      throw refusal(`${what} requires bytes, min and max, or what quantizeInt8() gave`);
    const min = numberArgument(map ? map.get('min') : args[1], what);
    const max = numberArgument(map ? map.get('max') : args[2], what);
    const bytes = int8Of(map ? (map.get('bytes') ?? null) : source, what);
    return dequantizeInt8({ bytes, min, max });
  }),
  givingVector(scalar, 'vector.dequantizeBinary(q [, lo, hi])', [1, 3], (args) => {
    const what = 'vector.dequantizeBinary()';
    const { bits, dimensions } = binaryOf(args[0] as Value, what);
    const low = optionalNumber(args[1], 0, what);
    const high = optionalNumber(args[2], 1, what);
    const vector = new Float64Array(dimensions);
    for (let i = 0; i < dimensions; i += 1)
      vector[i] = ((bits[i >> 3] as number) >> (i & 7)) & 1 ? high : low;
    return vector;
  }),
  nullSafe("vector.approxDistance(q1, q2 [, 'INT8' | 'BINARY'])", [2, 3], (args) => {
    const what = 'vector.approxDistance()';
    if (args[1] === null) return null;
    const first = args[0] as Value;
    const isBits = isMap(first) && first.has('bits');
    const kind = wordArgument(args[2] ?? (isBits ? 'BINARY' : 'INT8'), what, ['INT8', 'BINARY']);
    if (kind === 'BINARY') {
      const a = binaryOf(first, what);
      const b = binaryOf(args[1] as Value, what);
      if (a.bits.length !== b.bits.length) throw refusal(`${what} requires vectors of one length`);
      return double(hammingDistance(a.bits, b.bits));
    }
    const a = Float64Array.from(int8Of(bytesIn(first), what));
    const b = Float64Array.from(int8Of(bytesIn(args[1] as Value), what));
    requireSameLength(a, b, what);
    return double(Math.sqrt(squaredDistance(a, b)));
  }),
  givingVector(nullSafe, 'vector.normalizeScores(list)', [1, 1], (args) =>
    normalizeScores(vectorArgument(args[0], 'vector.normalizeScores()')),
  ),
  nullSafe('vector.scoreTransform(s, method)', [2, 2], (args) => {
    const what = 'vector.scoreTransform()';
    const words = ['LINEAR', 'SIGMOID', 'TANH', 'LOG', 'LN', 'EXP'] as const;
    const kind = wordArgument(args[1], what, words);
    return double(transformedScore(numberArgument(args[0], what), kind, what));
  }),
  nullSafe('vector.hybridScore(vs, ks, alpha | {alpha})', [3, 3], (args) => {
    const what = 'vector.hybridScore()';
    if (args[1] === null) return null;
    const given = args[2] as Value;
    const alpha = numberArgument(
      isMap(given) ? optionsArgument(given, what, ['alpha']).get('alpha') : given,
      what,
    );
    if (!(alpha >= 0 && alpha <= 1))
      throw refusal(`${what} requires alpha from 0 to 1, not ${alpha}`);
    return double(
      alpha * numberArgument(args[0], what) + (1 - alpha) * numberArgument(args[1], what),
    );
  }),
  nullSafe('vector.multiScore(scores, mode [, weights | {weights}])', [2, 3], (args) =>
    multiScore(args),
  ),
  scalar('vector.rrfScore(rank... [, {k}])', [1, ANY_NUMBER], (args) => reciprocalRank(args)),
];

function bytesIn(value: Value): Value {
  return isMap(value) ? (value.get('bytes') ?? null) : value;
}

function int8Of(value: Value, what: string): Int8Array {
  if (value instanceof Uint8Array) return new Int8Array(value);
  if (isList(value)) return Int8Array.from(vectorOf(value, what));
  throw refusal(`${what} requires bytes, not ${describe(value)}`);
}

function binaryOf(
  value: Value,
  what: string,
): { readonly bits: Uint8Array; readonly dimensions: number } {
  if (value instanceof Uint8Array) return { bits: value, dimensions: value.length * 8 };
  const map = mapArgument(value, what);
  const bits = map.get('bits') ?? null;
  if (!(bits instanceof Uint8Array)) throw refusal(`${what} requires what quantizeBinary() gave`);
  const dimensions = numberArgument(map.get('dimensions') ?? bits.length * 8, what);
  if (!(dimensions >= 0 && dimensions <= bits.length * 8))
    throw refusal(`${what}: ${dimensions} dimensions do not fit ${bits.length} bytes`);
  return { bits, dimensions };
}

function transformedScore(
  score: number,
  kind: 'LINEAR' | 'SIGMOID' | 'TANH' | 'LOG' | 'LN' | 'EXP',
  what: string,
): number {
  switch (kind) {
    case 'LINEAR':
      return score;
    case 'SIGMOID':
      return 1 / (1 + Math.exp(-score));
    case 'TANH':
      return Math.tanh(score);
    case 'EXP':
      return Math.exp(score);
    default:
      if (score <= 0) throw refusal(`${what}: ${kind} requires a positive score, not ${score}`);
      return Math.log(score);
  }
}

function multiScore(args: readonly Value[]): Value {
  const what = 'vector.multiScore()';
  const scores = vectorArgument(args[0], what);
  switch (wordArgument(args[1], what, ['MAX', 'AVG', 'MIN', 'WEIGHTED'])) {
    case 'MAX':
      return double(scores.reduce((a, b) => Math.max(a, b)));
    case 'MIN':
      return double(scores.reduce((a, b) => Math.min(a, b)));
    case 'AVG':
      return double(scores.reduce((a, b) => a + b) / scores.length);
    case 'WEIGHTED': {
      const given = args[2] ?? null;
      const list = isMap(given) ? optionsArgument(given, what, ['weights']).get('weights') : given;
      const weights = vectorArgument(list, what);
      requireSameLength(scores, weights, what);
      const total = weights.reduce((a, b) => a + b);
      if (total === 0) throw refusal(`${what} requires weights whose sum is not 0`);
      return double(
        scores.reduce((sum, score, i) => sum + score * (weights[i] as number), 0) / total,
      );
    }
  }
}

/** Reciprocal rank fusion: the sum of 1/(k + rank); null ranks are skipped. */
function reciprocalRank(args: readonly Value[]): Value {
  const what = 'vector.rrfScore()';
  const last = args[args.length - 1] as Value;
  const options = isMap(last) ? optionsArgument(last, what, ['k']) : undefined;
  const k = optionalNumber(options?.get('k'), 60, what);
  const given = options ? args.slice(0, -1) : args;
  const ranks =
    given.length === 1 && isList(given[0] as Value) ? listArgument(given[0], what) : given;
  let score = 0;
  for (const rank of ranks) {
    if (rank === null) continue;
    const number = numberArgument(rank, what);
    if (!(k + number > 0)) throw refusal(`${what}: rank ${number} is not positive`);
    score += 1 / (k + number);
  }
  return double(score);
}
