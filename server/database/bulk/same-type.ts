import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';

/** @throws DatabaseError `ConcurrentModification` when the type, its properties or its indexes are not what they were */
export function requireSame(
  type: TypeDefinition,
  { before, now }: { readonly before: Catalog; readonly now: Catalog },
): void {
  if (before === now) return;
  const found = now.typeNamed(type.name);
  const properties = found && isSameType(type, found) ? now.properties(type.id) : undefined;
  const indexes = properties === undefined ? [] : now.indexesOn(type.id);
  const oldProperties = before.properties(type.id);
  const oldIndexes = before.indexesOn(type.id);
  const isSame =
    properties?.size === oldProperties.size &&
    indexes.length === oldIndexes.length &&
    indexes.every((index, at) => index === oldIndexes[at]) &&
    [...oldProperties].every(([name, property]) => properties.get(name) === property);
  if (isSame) return;
  throw new DatabaseError(
    'ConcurrentModification',
    `the schema of type '${type.name}' was changed while its records were being loaded`,
  );
}

/** Whether nothing of a type changed, or only that it takes one-way edges now, which a load says of its own types. */
function isSameType(before: TypeDefinition, now: TypeDefinition): boolean {
  if (before === now) return true;
  const keys = Object.keys(now) as (keyof TypeDefinition)[];
  return keys.every((key) => key === 'hasOneWayEdges' || now[key] === before[key]);
}
