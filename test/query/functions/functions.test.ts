import { makeRid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { runGoldenFile, type GoldenCase } from '#test/support/datadriven.ts';
import { evaluateText } from './expression-text.ts';
import { sampleContext } from './sample-context.ts';
import { printValue } from './value-print.ts';

/**
 * Every row of sql-functions.md that is implemented, as golden files. `call` evaluates one expression per line (the current
 * record is #1:0); `aggregate` feeds rows: `name <- args; args; ...`, the arguments of one row in parentheses when there
 * are several. The output repeats each line with its result behind an arrow.
 */
const files = [
  'aggregates',
  'math',
  'conditional',
  'text',
  'conversion',
  'collections',
  'temporal',
  'graph',
  'paths',
  'namespaced-text',
  'namespaced-values',
  'namespaced-date',
  'time-series',
  'geo',
  'vector',
];

for (const file of files)
  runGoldenFile(new URL(`./${file}.txt`, import.meta.url), (golden) =>
    golden.input
      .split('\n')
      .map((line) => `${line} -> ${resultOf(golden, line)}`)
      .join('\n'),
  );

function resultOf(golden: GoldenCase, line: string): string {
  const context = sampleContext();
  try {
    const value =
      golden.command === 'aggregate'
        ? aggregated(line, context)
        : evaluateText(line, context, context.view.record(makeRid(1, 0)) ?? null);
    return printValue(value);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return `error ${'code' in error ? String(error.code) : error.name}: ${error.message}`;
  }
}

function aggregated(line: string, context: EvaluationContext): Value {
  const [name = '', rows = ''] = line.split('<-').map((part) => part.trim());
  const definition = functionRegistry.aggregate(name);
  if (definition === undefined) throw new Error(`no aggregate ${name}`);
  const accumulator = definition.create();
  for (const row of rows === '' ? [] : rows.split(';')) {
    const text = row.trim();
    const args = evaluateText(
      text.startsWith('(') ? `[${text.slice(1, -1)}]` : `[${text}]`,
      context,
      null,
    );
    accumulator.add(text === '()' ? [] : (args as readonly Value[]), context);
  }
  return accumulator.result(context);
}
