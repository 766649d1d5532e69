import { type DatabaseError, languageError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import { kindName } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { scalar } from '../define.ts';

/**
 * `#cypher.rowCount(x)`: what SKIP and LIMIT of openCypher take, checked when a statement runs; analyzers check literals.
 * @throws DatabaseError `InvalidArgumentType` for what is no integer, `NegativeIntegerArgument`
 */
export const rowCountFunctions: readonly ScalarFunction[] = [
  scalar('#cypher.rowCount(n)', [1, 1], ([count]) => rowCount(count as Value)),
];

function rowCount(count: Value): Value {
  const isInteger =
    typeof count === 'bigint' || (typeof count === 'number' && Number.isInteger(count));
  if (!isInteger) throw failure('InvalidArgumentType', `not ${kindName(count)}`);
  if (count < 0) throw failure('NegativeIntegerArgument', `not ${count}`);
  return count;
}

function failure(detail: string, seen: string): DatabaseError {
  return languageError(
    { type: 'SyntaxError', phase: 'runtime', detail },
    `SKIP and LIMIT take an integer that is not negative, ${seen}`,
  );
}
