import type { Expression } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { ClauseOf } from '../ast.ts';
import type { Compiler } from './compiler.ts';
import type { Binding, Scope } from './scope.ts';

/**
 * LOAD CSV (cypher.md 3.2). Line and file of a row stand in the scope under names that no text can write, for `linenumber()` and
 * `file()`.
 */

const hidden = { linenumber: '\0line', file: '\0file' } as const;

export function isHidden(name: string): boolean {
  return name.startsWith('\0');
}

/** What WITH passes on without naming it. */
export function hiddenBindings(scope: Scope): readonly (readonly [string, Binding])[] {
  return Object.values(hidden).flatMap((name) => {
    const binding = scope.get(name);
    return binding === undefined ? [] : [[name, binding] as const];
  });
}

/** @returns undefined for other functions */
export function compileCsvCall(
  name: string,
  args: readonly unknown[],
  scope: Scope,
): Expression | undefined {
  if ((name !== 'linenumber' && name !== 'file') || args.length > 0) return undefined;
  const binding = scope.get(hidden[name]);
  if (binding === undefined) return { op: 'Constant', value: null };
  return { op: 'Slot', slot: binding.slot };
}

export function compileLoadCsv(
  compiler: Compiler,
  clause: ClauseOf<'loadCsv'>,
  row: { readonly plan: LogicalPlan; readonly scope: Scope },
): { readonly plan: LogicalPlan; readonly bindings: readonly (readonly [string, Binding])[] } {
  const { terminator = ',', hasHeaders, url, at } = clause;
  if (terminator.length !== 1 || '"\r\n\0'.includes(terminator))
    throw compiler.failure('InvalidArgumentValue', at, 'FIELDTERMINATOR is one character');
  const [record, line, file] = [compiler.newSlot(), compiler.newSlot(), compiler.newSlot()];
  const plan: LogicalPlan = {
    op: 'Call',
    input: row.plan,
    procedure: '#load.csv',
    arguments: [
      compiler.expression(url, row.scope),
      { op: 'Constant', value: hasHeaders },
      { op: 'Constant', value: terminator },
    ],
    yields: [
      { name: 'row', slot: record },
      { name: 'line', slot: line },
      { name: 'file', slot: file },
    ],
  };
  return {
    plan,
    bindings: [
      [clause.variable, { slot: record, kind: 'value' }],
      [hidden.linenumber, { slot: line, kind: 'value' }],
      [hidden.file, { slot: file, kind: 'value' }],
    ],
  };
}
