import type { Catalog, IndexDefinition, IndexKind, PropertyDefinition } from '#catalog/catalog.ts';
import type { PropertyAttribute, SchemaChange } from '#catalog/change/changes.ts';
import { isShown } from '#catalog/change/index-definition.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { Command, EntityKind } from '../ast.ts';
import type { Compiler } from './compiler.ts';

/** What schema commands are made of. */

/** One kind of command. */
export type CommandOf<Kind extends Command['kind']> = Extract<Command, { readonly kind: Kind }>;
type AlterPlan = Extract<LogicalPlan, { readonly op: 'Alter' }>;

/** One change of the schema, after those that it needs. */
export function alteration(
  compiler: Compiler,
  change: SchemaChange,
  parts: Pick<AlterPlan, 'first' | 'counts'>,
): LogicalPlan {
  return { op: 'Alter', change, as: compiler.newSlot(), ...parts };
}

/** A command that finds nothing to do. It asks for the right that it would need otherwise, so it is a change, too. */
export function nothing(compiler: Compiler): LogicalPlan {
  // No index has this name.
  return alteration(compiler, { kind: 'drop-index', name: '', ifExists: true }, {});
}

/** Makes the type when there is none. */
export function typeChanges(
  catalog: Catalog,
  { entity, type }: { entity: EntityKind; type: string },
): readonly SchemaChange[] {
  const kind = entity === 'node' ? 'vertex' : 'edge';
  const known = catalog.typeNamed(type);
  if (known !== undefined) {
    if (known.kind === kind) return [];
    throw new DatabaseError('Schema', `'${type}' is no ${entity} type`);
  }
  return [
    {
      kind: 'create-type',
      type: kind,
      name: type,
      ifNotExists: true,
      supertypes: [],
      buckets: [],
      bucketCount: undefined,
      custom: new Map(),
      bidirectional: true,
      lightweight: false,
      uniqueEdges: false,
    },
  ];
}

/** What makes an index another than a plain one. */
export interface SpecialIndex {
  readonly indexKind: IndexKind;
  readonly dataType: string;
  readonly metadata: ValueMap;
}

/** CREATE PROPERTY */
export function propertyChange(
  type: string,
  property: string,
  dataType: string,
  {
    attributes = [],
    custom = new Map(),
    ifNotExists = true,
  }: {
    readonly attributes?: readonly PropertyAttribute[];
    readonly custom?: ValueMap;
    readonly ifNotExists?: boolean;
  } = {},
): SchemaChange {
  return {
    kind: 'create-property',
    type,
    property,
    ifNotExists,
    dataType,
    ofType: undefined,
    attributes,
    custom,
  };
}

/** CREATE INDEX of values of any type, or a special one. */
export function indexChange(index: {
  readonly name: string | undefined;
  readonly type: string;
  readonly properties: readonly string[];
  readonly isUnique: boolean;
  readonly special?: SpecialIndex;
  readonly isText?: boolean;
}): SchemaChange {
  const { name, type, properties, isUnique, special, isText } = index;
  return {
    kind: 'create-index',
    name,
    ifNotExists: false,
    type,
    components: properties.map((property) => ({
      property,
      by: 'value',
      caseInsensitive: false,
    })),
    componentText: properties.join(','),
    indexKind: special?.indexKind ?? 'LSM_TREE',
    ...(special === undefined && { ofAnyType: true as const }),
    unique: isUnique,
    nullStrategy: 'SKIP',
    metadata: special?.metadata ?? new Map(),
    ...(isText && { isText }),
  };
}

/** An index of the kind on exactly these properties of the type itself. */
export function sameIndex(
  catalog: Catalog,
  typeName: string,
  properties: readonly string[],
  { isUnique, kind = 'LSM_TREE' }: { readonly isUnique: boolean; readonly kind?: IndexKind },
): IndexDefinition | undefined {
  const type = catalog.typeNamed(typeName);
  return catalog
    .indexes()
    .find(
      (index) =>
        isShown(index) &&
        index.type === type?.id &&
        index.unique === isUnique &&
        index.kind === kind &&
        index.components.length === properties.length &&
        index.components.every(({ property }, at) => property === properties[at]),
    );
}

/** DROP INDEX; nothing when it may be missing and is. */
export function dropIndex(
  compiler: Compiler,
  { name, ifExists }: { readonly name: string; readonly ifExists: boolean },
  counts: 'indexesRemoved' | 'constraintsRemoved',
): LogicalPlan {
  const known = compiler.catalog.indexNamed(name);
  if (ifExists && (known === undefined || !isShown(known))) return nothing(compiler);
  return alteration(compiler, { kind: 'drop-index', name, ifExists: false }, { counts });
}

/** The declaration of a property, of the type or of one that it inherits from. */
export function propertyOf(
  catalog: Catalog,
  typeName: string,
  property: string,
): PropertyDefinition | undefined {
  const type = catalog.typeNamed(typeName);
  return type === undefined ? undefined : catalog.property(type.id, property);
}
