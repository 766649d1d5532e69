import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import type { ReadView } from '#transaction/read-view.ts';
import { completedWithPauses } from './compile-steps.ts';
import type { RunOptions, Statement } from './session.ts';
import type { StatementCompiler } from './statement-compiler.ts';

/** Characters from which on compiling takes longer than a slice. */
const longTextLength = 16 * 1024;

export function isLongText(text: string): boolean {
  return text.length > longTextLength;
}

/**
 * Compiles a long statement step by step, giving the others a turn between them, and leaves the result where
 * `StatementCompiler.compiled` finds it until `release` is called.
 *
 * @throws DatabaseError as `compiled`; `Cancelled` when the client leaves meanwhile
 */
export async function prepareLongText(
  compiler: StatementCompiler,
  statement: Statement,
  surroundings: {
    readonly options: RunOptions;
    readonly view: () => ReadView;
    readonly timers: Timers;
  },
): Promise<{ release(): void }> {
  const { options, timers } = surroundings;
  using view = surroundings.view();
  if (compiler.isKnown(statement, view)) return nothingToRelease;
  const compiled = await completedWithPauses(compiler.steps(statement, view), async () => {
    await timers.yield();
    if (options.signal.aborted) throw new DatabaseError('Cancelled', 'the client has left');
  });
  const release = compiler.keepForNow(statement, compiled);
  return { release };
}

const nothingToRelease = { release(): void {} };
