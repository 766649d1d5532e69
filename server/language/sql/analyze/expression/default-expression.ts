import { DatabaseError } from '#core/errors.ts';
import type { Expression } from '../../ast.ts';
import { operandsOf } from '../../syntax-walk.ts';

/**
 * Refuses a default that could never have a value, since it is computed later and without a record (sql.md 13.7): one that is a
 * property, or a path from one, and one with a parameter.
 * @throws DatabaseError `IllegalArgument`
 */
export function requireDefault(text: string, node: Expression): void {
  const source = text.slice(node.at, node.end);
  if (isProperty(node))
    throw invalid(source, `it is a field reference, not a value. Quote it as '${source}'`);
  const parameter = parameterIn(node);
  if (parameter !== undefined)
    throw invalid(
      source,
      `the parameter ${text.slice(parameter.at, parameter.end)} has no value when a record is created. Write the value itself`,
    );
}

function invalid(source: string, reason: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `Cannot set attribute on property default ${source}: Invalid default value ${source}: ${reason}`,
  );
}

function isProperty(node: Expression): boolean {
  switch (node.kind) {
    case 'paren':
      return isProperty(node.inner);
    case 'property':
      return isProperty(node.of);
    case 'name':
      return node.isQuoted || !node.name.startsWith('$');
    default:
      return false;
  }
}

function parameterIn(node: Expression): Expression | undefined {
  if (node.kind === 'parameter') return node;
  for (const operand of operandsOf(node)) {
    const found = parameterIn(operand);
    if (found !== undefined) return found;
  }
  return undefined;
}
