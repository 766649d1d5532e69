import { DatabaseError } from '#core/errors.ts';
import type { Expression } from '../ast.ts';

/**
 * Refuses a default that is a bare name: it would be a property of a record that does not exist yet (sql.md 13.7).
 * @throws DatabaseError `IllegalArgument`
 */
export function requireDefault(text: string, node: Expression): void {
  let inner = node;
  while (inner.kind === 'paren') inner = inner.inner;
  const isProperty = inner.kind === 'name' && (inner.isQuoted || !inner.name.startsWith('$'));
  if (!isProperty) return;
  const source = text.slice(node.at, node.end);
  throw new DatabaseError(
    'IllegalArgument',
    `Cannot set attribute on property default ${source}: Invalid default value ${source}: it is a field reference, not a value. Quote it as '${source}'`,
  );
}
