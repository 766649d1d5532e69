// Temporal values and points by expression, one a line: text in, value or error out (instants.txt, refusals.txt).
import { DatabaseError } from '#core/errors.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import { compileExpression } from '#query/evaluate/compile.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { runGoldenFile } from '#test/support/datadriven.ts';
import { context, environment } from '../evaluate/fixtures.ts';
import { parseExpression } from './small-cypher.ts';

function shown(value: Value): string {
  return value === null ? 'null' : textOf(value, defaultTemporalFormats);
}

function answer(line: string): string {
  try {
    const run = compileExpression(parseExpression(line, new Map()), {
      ...environment,
      functions: functionRegistry,
    });
    return shown(run(context()));
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

for (const name of ['instants.txt', 'refusals.txt'])
  runGoldenFile(new URL(name, import.meta.url), ({ input }) =>
    input
      .split('\n')
      .map((line) => answer(line))
      .join('\n'),
  );
