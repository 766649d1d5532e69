import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { type CompileSteps, completedWithPauses } from './compile-steps.ts';
import type { RunOptions, Statement } from '../session.ts';
import type { DatabaseThreads } from '../threads/database-threads.ts';
import type { Compiled, StatementCompiler } from './compiler.ts';

/** Characters from which on compiling may take longer than a slice: 40 patterns without a tie are that long. */
const longTextLength = 1024;
/** Steps are made together up to this time. */
const sliceMs = 2;
/** One that takes longer is ended: most end by themselves, and what a step had begun is gone through again. */
const stepMsMax = 4;

export function isLongText(text: string): boolean {
  return text.length > longTextLength;
}

/**
 * Compiles a long statement step by step, giving the others a turn between them, and leaves the result where
 * `StatementCompiler.compiled` finds it until that is disposed of.
 *
 * @throws DatabaseError as `compiled`; `Cancelled` when the client leaves meanwhile
 */
export async function prepareLongText(
  compiler: StatementCompiler,
  statement: Statement,
  surroundings: {
    readonly options: RunOptions;
    readonly view: () => ReadView;
    readonly runtime: Runtime;
    readonly threads?: DatabaseThreads | undefined;
  },
): Promise<Disposable> {
  using view = surroundings.view();
  return await preparedIn(compiler, statement, { ...surroundings, view });
}

/** As `prepareLongText`, in a view that stays open: for texts of any length. */
export async function preparedIn(
  compiler: StatementCompiler,
  statement: Statement,
  surroundings: {
    readonly options: RunOptions;
    readonly view: ReadView;
    readonly runtime: Runtime;
    readonly threads?: DatabaseThreads | undefined;
  },
): Promise<Disposable> {
  const { options, runtime, view } = surroundings;
  if (!isLongText(statement.text) || compiler.isKnown(statement, view)) return nothingToRelease;
  const steps = stepsToRun(compiler.steps(statement, view), surroundings);
  const compiled = await completedInTurns(steps, runtime, options);
  return { [Symbol.dispose]: compiler.keepForNow(statement, compiled) };
}

function* stepsToRun(
  steps: CompileSteps<Compiled>,
  { threads, view }: { readonly threads?: DatabaseThreads | undefined; readonly view: ReadView },
): CompileSteps<Compiled> {
  const compiled = yield* steps;
  if (threads !== undefined && compiled.kind === 'statement' && compiled.isReadOnly) {
    yield;
    yield* threads.judgeInSteps(compiled, view);
  }
  return compiled;
}

/**
 * All steps, giving the others a turn now and then: after them, too, so that what was made runs in a turn of its own.
 * @throws DatabaseError `Cancelled` when the client leaves meanwhile
 */
export async function completedInTurns<T>(
  steps: CompileSteps<T>,
  { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
  { signal }: Pick<RunOptions, 'signal'>,
): Promise<T> {
  let startedMs = clock.monotonicMs();
  let isLong = false;
  const giveTurn = async (): Promise<void> => {
    isLong = true;
    await timers.yield();
    startedMs = clock.monotonicMs();
    if (signal.aborted) throw new DatabaseError('Cancelled', 'the client has left');
  };
  const turn = { isOver: () => clock.monotonicMs() - startedMs >= stepMsMax };
  const pause = async (): Promise<void> => {
    if (clock.monotonicMs() - startedMs >= sliceMs) await giveTurn();
  };
  const made = await completedWithPauses(steps, pause, turn);
  if (isLong) await giveTurn();
  return made;
}

const nothingToRelease: Disposable = { [Symbol.dispose](): void {} };
