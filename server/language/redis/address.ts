import type { Catalog, IndexDefinition, TypeDefinition } from '#catalog/catalog.ts';
import type { RecordContext } from '#query/algebra/commands.ts';
import { refusal, shown } from './refusal.ts';

/** What the first argument of a command on records names (redis.md 4.1). */
export type Target =
  | { readonly kind: 'database' }
  | { readonly kind: 'type'; readonly type: TypeDefinition }
  | {
      readonly kind: 'index';
      readonly type: TypeDefinition;
      /** As they were written. */
      readonly properties: readonly string[];
    };

/**
 * `<database>`, `<Type>`, `<Type>[p]`, `<Type>[p,q]`, types with or without `<database>.` before them. A type whose own name has a
 * dot in it comes first.
 * @throws DatabaseError `IllegalArgument` for a type or index that is not there, and for the address of another database
 */
export function targetOf(address: string, { catalog, databaseName }: RecordContext): Target {
  const bracket = address.endsWith(']') ? address.indexOf('[') : -1;
  const name = (bracket < 0 ? address : address.slice(0, bracket)).trim();
  if (bracket < 0 && name === databaseName && catalog.typeNamed(name) === undefined)
    return { kind: 'database' };
  const type = typeOf(name, catalog, databaseName);
  if (bracket < 0) return { kind: 'type', type };
  // No index has so many properties; to take them apart would take long.
  if (address.length > addressLengthMax)
    throw refusal(`Index '${shown(`${type.name}${address.slice(bracket)}`)}' not found`);
  const properties = address
    .slice(bracket + 1, -1)
    .split(',')
    .map((property) => property.trim());
  if (indexOn(type, properties, catalog) === undefined)
    throw refusal(`Index '${shown(`${type.name}[${properties.join(',')}]`)}' not found`);
  return { kind: 'index', type, properties };
}

const addressLengthMax = 64 * 1024;

function typeOf(name: string, catalog: Catalog, databaseName: string): TypeDefinition {
  const whole = catalog.typeNamed(name);
  if (whole !== undefined) return whole;
  const prefix = `${databaseName}.`;
  const isOwn = name.startsWith(prefix);
  const rest = isOwn ? name.slice(prefix.length) : name;
  const type = catalog.typeNamed(rest);
  if (type !== undefined) return type;
  if (!isOwn && name.includes('.'))
    throw refusal(
      `'${shown(name)}' is no type of database '${databaseName}', which this command is for; addresses are '<Type>', '${prefix}<Type>' and these with '[property]'`,
    );
  throw refusal(`Type '${shown(rest)}' was not found`);
}

/** An index over exactly these properties, in any order, that holds all records of the type. */
function indexOn(
  type: TypeDefinition,
  properties: readonly string[],
  catalog: Catalog,
): IndexDefinition | undefined {
  return catalog
    .indexesOn(type.id)
    .find(
      ({ kind, components, isInternal }) =>
        isInternal !== true &&
        (kind === 'LSM_TREE' || kind === 'HASH') &&
        components.length === properties.length &&
        components.every(({ property, by }) => by === 'value' && properties.includes(property)),
    );
}
