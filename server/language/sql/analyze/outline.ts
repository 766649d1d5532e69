import { QueryScope } from '#query/binder/scope.ts';
import type { Expression } from '../ast.ts';
import type { ScriptStatement } from '../statements.ts';
import { type Analysis, type AnalyzedQuery, rowEnvironment } from './analysis.ts';

/**
 * What EXPLAIN shows of a statement of scripts, which has no plan of its own: the values that it computes, with the plans of the
 * queries in them, or else its name.
 * @throws DatabaseError as the analysis of the values
 */
export function outlineOfScriptStatement(
  analysis: Analysis,
  statement: ScriptStatement,
): AnalyzedQuery {
  const scope = new QueryScope(undefined);
  const values = valuesOf(statement).map((node) =>
    analysis.expression(node, rowEnvironment(scope)),
  );
  if (values.length === 0)
    values.push({ op: 'Constant', value: scriptStatementNames[statement.kind].toLowerCase() });
  const columns = values.map((value) => ({ slot: analysis.slots.next(), value }));
  scope.stage((input) => ({ op: 'Project', input, columns }));
  return {
    plan: scope.close(),
    output: {
      kind: 'columns',
      columns: columns.map(({ slot }, at) => ({ name: String(at), slot })),
    },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

/** The values that are computed whatever the statement then does. */
function valuesOf(statement: ScriptStatement): readonly Expression[] {
  switch (statement.kind) {
    case 'let':
      return statement.items.map(({ value }) => value);
    case 'setGlobal':
      return [statement.value];
    case 'return':
      return statement.value === undefined ? [] : [statement.value];
    case 'if':
    case 'while':
      return [statement.condition];
    case 'forEach':
      return [statement.list];
    case 'sleep':
      return [statement.ms];
    case 'console':
      return [statement.message];
    case 'callStatement':
      return [statement.call];
    default:
      return [];
  }
}

export const scriptStatementNames = {
  let: 'LET',
  setGlobal: 'SET GLOBAL',
  return: 'RETURN',
  if: 'IF',
  while: 'WHILE',
  forEach: 'FOREACH',
  break: 'BREAK',
  rollback: 'ROLLBACK',
  begin: 'BEGIN',
  commit: 'COMMIT',
  lock: 'LOCK',
  sleep: 'SLEEP',
  console: 'CONSOLE',
  callStatement: 'a function call',
} as const satisfies Record<ScriptStatement['kind'], string>;
