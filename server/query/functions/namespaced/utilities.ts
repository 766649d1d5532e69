import {
  deflate,
  deflateSync,
  gunzip,
  gunzipSync,
  gzip,
  gzipSync,
  inflate,
  inflateSync,
} from 'node:zlib';
import type { PausingWork } from '#core/pausing-work.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import { textOf } from '#core/text/text-form.ts';
import { textInTurns } from '#core/text/text-in-turns.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { canPause } from '../../evaluate/turns/long-calls.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  booleanArgument,
  integerArgument,
  refusal,
  textArgument,
  wordArgument,
} from '../arguments.ts';
import { boundedText, requireBytes } from '../number/bounds.ts';
import { inTurns, longScalar, nullSafe, scalar, volatileScalar } from '../define.ts';
import { digest, digestInTurns } from '../text/encoding.ts';

/** `util.*` and `create.*` (sql-functions.md 9). */
export const utilityFunctions: readonly ScalarFunction[] = [
  hashing('md5', 'MD5'),
  hashing('sha1', 'SHA-1'),
  hashing('sha256', 'SHA-256'),
  hashing('sha512', 'SHA-512'),
  inTurns(
    nullSafe("util.compress(data [, 'gzip' | 'deflate'])", [1, 2], (args, context) => {
      const content = contentOf(args[0] as Value, context);
      const algorithm = wordArgument(args[1] ?? 'gzip', 'util.compress()', algorithms);
      const packed = algorithm === 'gzip' ? gzipSync(content) : deflateSync(content);
      return packed.toString('base64');
    }),
    function* (args, context) {
      const content = contentOf(args[0] as Value, context);
      const algorithm = wordArgument(args[1] ?? 'gzip', 'util.compress()', algorithms);
      const packed = yield* doneElsewhere(
        (done) => (algorithm === 'gzip' ? gzip(content, done) : deflate(content, done)),
        () => (algorithm === 'gzip' ? gzipSync(content) : deflateSync(content)),
      );
      return packed.toString('base64');
    },
  ),
  inTurns(
    nullSafe("util.decompress(data [, 'gzip' | 'deflate'])", [1, 2], (args, context) => {
      const algorithm = wordArgument(args[1] ?? 'gzip', 'util.decompress()', algorithms);
      const packed = packedIn(args[0] as Value);
      const limit = limitOf(context);
      try {
        const content =
          algorithm === 'gzip' ? gunzipSync(packed, limit) : inflateSync(packed, limit);
        return boundedText(content.toString(), context);
      } catch (cause) {
        throw refusalOf(cause, algorithm, context);
      }
    }),
    function* (args, context) {
      const algorithm = wordArgument(args[1] ?? 'gzip', 'util.decompress()', algorithms);
      const packed = packedIn(args[0] as Value);
      const limit = limitOf(context);
      try {
        const content = yield* doneElsewhere(
          (done) =>
            algorithm === 'gzip' ? gunzip(packed, limit, done) : inflate(packed, limit, done),
          () => (algorithm === 'gzip' ? gunzipSync(packed, limit) : inflateSync(packed, limit)),
        );
        return boundedText(content.toString(), context);
      } catch (cause) {
        throw refusalOf(cause, algorithm, context);
      }
    },
  ),
  waiting(
    longScalar('util.sleep(ms)', [1, 1], ([ms = null], { runtime }) => slept(ms, runtime.timers)),
  ),
  scalar('util.validate(condition, message)', [2, 2], (args, context) => {
    const holds = args[0] as Value;
    if (holds !== null && booleanArgument(holds, 'util.validate()')) return true;
    throw refusal(textOf(args[1] as Value, context.formats));
  }),
  volatileScalar('create.uuid()', [0, 0], (_, { runtime }) => runtime.random.uuid()),
  volatileScalar('create.uuidBase64()', [0, 0], (_, { runtime }) =>
    Buffer.from(runtime.random.uuid().replaceAll('-', ''), 'hex').toString('base64url'),
  ),
];

/** As long as the SLEEP statement may take at most (limits.md 32). */
const sleepMsMax = 60_000;

/** Refused where nobody can wait without keeping everyone else waiting. */
function waiting(definition: ScalarFunction): ScalarFunction {
  return {
    ...definition,
    evaluate(args, context) {
      if (canPause(context)) return definition.evaluate(args, context);
      throw new DatabaseError('NotSupported', `not supported here: ${definition.name}()`);
    },
  };
}

function* slept(ms: Value, timers: Timers): PausingWork<Value> {
  if (ms === null) return null;
  const delayMs = integerArgument(ms, 'util.sleep()');
  if (delayMs < 0 || delayMs > sleepMsMax)
    throw refusal(`util.sleep() takes 0 to ${sleepMsMax} milliseconds, not ${delayMs}`);
  let isOver = delayMs === 0;
  const over = timers.sleep(delayMs).then(() => {
    isOver = true;
  });
  while (!isOver) yield { over, isWork: false, standStill() {} };
  return null;
}

const algorithms = ['gzip', 'deflate'] as const;

function hashing(name: string, algorithm: string): ScalarFunction {
  return inTurns(
    nullSafe(`util.${name}(x)`, [1, 1], (args, context) =>
      digest(contentOf(args[0] as Value, context), algorithm, `util.${name}()`),
    ),
    function* ([value = null], context, meter) {
      const isBytes = value instanceof Uint8Array;
      const content = isBytes ? value : yield* textInTurns(value, context.formats, meter);
      requireBytes(content.length, context);
      return yield* digestInTurns(content, algorithm, `util.${name}()`, meter);
    },
  );
}

function contentOf(value: Value, context: EvaluationContext): Uint8Array {
  if (value instanceof Uint8Array) return value;
  const text = textOf(value, context.formats);
  requireBytes(text.length, context);
  return Buffer.from(text);
}

/**
 * Work that a thread of the system does while others have their turns.
 * @param begin starts it
 * @param doHere does it at once, for callers that cannot wait
 */
function* doneElsewhere(
  begin: (done: (error: Error | null, result: Buffer) => void) => void,
  doHere: () => Buffer,
): PausingWork<Buffer> {
  let outcome: { readonly error: Error | null; readonly result: Buffer } | undefined;
  const over = new Promise<void>((resolve) => {
    begin((error, result) => {
      outcome ??= { error, result };
      resolve();
    });
  });
  const standStill = (): void => {
    try {
      outcome = { error: null, result: doHere() };
    } catch (error) {
      outcome = { error: error as Error, result: Buffer.alloc(0) };
    }
  };
  while (outcome === undefined) yield { over, isWork: true, standStill };
  if (outcome.error !== null) throw outcome.error;
  return outcome.result;
}

function packedIn(value: Value): Uint8Array {
  if (value instanceof Uint8Array) return value;
  return Buffer.from(textArgument(value, 'util.decompress()'), 'base64');
}

function limitOf({ limits }: EvaluationContext): { readonly maxOutputLength: number } {
  return { maxOutputLength: Math.max(1, limits.valueBytesMax) };
}

function refusalOf(
  cause: unknown,
  algorithm: 'gzip' | 'deflate',
  context: EvaluationContext,
): unknown {
  if (cause instanceof DatabaseError) return cause;
  if (cause instanceof RangeError) requireBytes(limitOf(context).maxOutputLength + 1, context);
  return new DatabaseError('IllegalArgument', `util.decompress(): the data is not ${algorithm}`, {
    cause,
  });
}
