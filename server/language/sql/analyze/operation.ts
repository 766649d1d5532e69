import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { OperationProgram } from '#query/algebra/program.ts';
import type { Command } from '../statements.ts';
import { QueryScope } from '#query/binder/scope.ts';
import type { Analysis, AnalyzedQuery } from './analysis.ts';
import { constantOf } from './expression/constant.ts';

/** Statements on the database as a whole that are run outside of transactions (sql.md 16.4, 16.5). */
const operationNames: ReadonlySet<string> = new Set([
  'BACKUP DATABASE',
  'EXPORT DATABASE',
  'IMPORT DATABASE',
]);

/** Whether the statement is no plan but an operation. */
export function isOperation(statement: {
  readonly kind: string;
  readonly name?: unknown;
}): statement is Command {
  const { kind, name } = statement;
  return kind === 'command' && typeof name === 'string' && operationNames.has(name);
}

/**
 * What the operation is to do: `url` when there is one, and its settings as a map.
 * @throws DatabaseError `IllegalArgument` for a setting whose value is no constant, or that stands there twice
 */
export function analyzeOperation(analysis: Analysis, statement: Command): OperationProgram {
  const found = new Map<string, Value>();
  const url = statement.arguments.get('url');
  if (typeof url === 'string') found.set('url', url);
  const settings = new Map<string, Value>();
  const given = statement.arguments.get('settings');
  if (typeof given === 'object' && given.kind === 'settings') {
    for (const { name, value } of given.value) {
      if (settings.has(name))
        throw new DatabaseError('IllegalArgument', `setting '${name}' is given twice`);
      settings.set(name, constantOf(analysis, value, `setting ${name}`));
    }
  }
  found.set('settings', settings);
  return { kind: 'operation', name: statement.name.toLowerCase(), arguments: found };
}

/** What EXPLAIN shows of an operation, which has no plan: its name. @throws DatabaseError as `analyzeOperation` */
export function outlineOfOperation(analysis: Analysis, statement: Command): AnalyzedQuery {
  const { name } = analyzeOperation(analysis, statement);
  const scope = new QueryScope(undefined);
  const slot = analysis.slots.next();
  const value = { op: 'Constant', value: name } as const;
  scope.stage((input) => ({ op: 'Project', input, columns: [{ slot, value }] }));
  return {
    plan: scope.close(),
    output: { kind: 'columns', columns: [{ name: 'operation', slot }] },
    metadata: new Map(),
    statementLimit: undefined,
  };
}
