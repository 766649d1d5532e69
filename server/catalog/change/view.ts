import { DatabaseError } from '#core/errors.ts';
import type { AppliedChange, ChangeContext } from './applied-change.ts';
import { nextCatalog, row, unchanged } from './applied-change.ts';
import { CatalogValue } from '../catalog-value.ts';
import { added, hint, withDefinitions } from './definition.ts';
import { createType, dropType } from './type.ts';
import type { SchemaChange } from './changes.ts';
import type { DefinitionChange } from './definition-changes.ts';
import type { ViewDefinition } from '../definitions.ts';

type Change<K extends DefinitionChange['kind']> = Extract<DefinitionChange, { kind: K }>;

/** sql.md 14.3: the view's document type and its definition; it is filled by who runs the statement. */
export function createView(
  catalog: CatalogValue,
  change: Change<'create-view'>,
  context: ChangeContext,
): AppliedChange {
  const { name, query, refreshMode, refreshIntervalMs } = change;
  const { isSimple, sourceTypes, readsAnyType } = change;
  const { views } = catalog.definitions.parts;
  if (catalog.definitions.view(name) !== undefined) {
    if (change.ifNotExists) return unchanged(catalog);
    throw new DatabaseError('Schema', `Materialized view '${name}' already exists`);
  }
  const isThere = change.adoptsType === true && catalog.typeNamed(name)?.kind === 'document';
  const withType = isThere
    ? { catalog: nextCatalog(catalog, {}), effects: [] }
    : createType(catalog, backingType(change), context);
  const type = withType.catalog.typeNamed(name)?.id;
  if (type === undefined) throw new DatabaseError('Schema', `Type ${name} was not created`);
  const made: ViewDefinition = {
    name,
    type,
    query,
    refreshMode,
    refreshIntervalMs,
    isSimple,
    sourceTypes,
    readsAnyType,
  };
  const rows = [row({ operation: 'create materialized view', name })];
  return { ...withType, catalog: withViews(withType.catalog, added(what, views, made)), rows };
}

function backingType({
  name,
  bucketCount,
}: Change<'create-view'>): Extract<SchemaChange, { kind: 'create-type' }> {
  return {
    kind: 'create-type',
    type: 'document',
    name,
    ifNotExists: false,
    supertypes: [],
    buckets: [],
    bucketCount,
    custom: new Map(),
    bidirectional: true,
    lightweight: false,
    uniqueEdges: false,
  };
}

export function alterView(catalog: CatalogValue, change: Change<'alter-view'>): AppliedChange {
  const { name, refreshMode, refreshIntervalMs } = change;
  const view = requireView(catalog, name);
  const views = catalog.definitions.parts.views.map((other) =>
    other === view ? { ...view, refreshMode, refreshIntervalMs } : other,
  );
  return withDefinitions(
    catalog,
    { views },
    row({ operation: 'alter materialized view', name, refreshMode }),
  );
}

export function dropView(
  catalog: CatalogValue,
  change: Change<'drop-view'>,
  context: ChangeContext,
): AppliedChange {
  const { name, ifExists } = change;
  const answer = (dropped: boolean) => row({ operation: 'drop materialized view', name, dropped });
  if (ifExists && catalog.definitions.view(name) === undefined)
    return unchanged(catalog, [answer(false)]);
  const view = requireView(catalog, name);
  const withoutType = dropType(
    catalog,
    { kind: 'drop-type', name, ifExists: false, unsafe: true },
    context,
  );
  const views = catalog.definitions.parts.views.filter((other) => other !== view);
  return { ...withoutType, catalog: withViews(withoutType.catalog, views), rows: [answer(true)] };
}

const what = 'materialized views';

/** A catalog that was made by this very change already, so its version stays. */
function withViews({ parts }: CatalogValue, views: readonly ViewDefinition[]): CatalogValue {
  return new CatalogValue({ ...parts, definitions: { ...parts.definitions, views } });
}

/** @throws DatabaseError `Schema` when there is no materialized view of that name */
export function requireView(
  catalog: Pick<CatalogValue, 'definitions'>,
  name: string,
): ViewDefinition {
  const view = catalog.definitions.view(name);
  if (view !== undefined) return view;
  const { views } = catalog.definitions.parts;
  throw new DatabaseError(
    'Schema',
    `Materialized view '${name}' was not found`,
    hint(
      name,
      views.map((other) => other.name),
    ),
  );
}

/**
 * The type of a view follows its definition: it is neither altered, dropped nor extended by itself.
 * @throws DatabaseError `IllegalArgument`
 */
export function refuseOnViews(catalog: CatalogValue, change: SchemaChange): void {
  if (catalog.definitions.parts.views.length === 0) return;
  const refuse = (name: string, remedy: string): void => {
    const type = catalog.typeNamed(name);
    if (type === undefined || catalog.definitions.hooks(type.id)?.view === undefined) return;
    throw new DatabaseError('IllegalArgument', `'${name}' is a materialized view: ${remedy}`);
  };
  if (change.kind === 'drop-type') refuse(change.name, 'use DROP MATERIALIZED VIEW');
  if (change.kind === 'alter-type') refuse(change.name, 'its type cannot be altered');
  if (change.kind === 'create-type')
    for (const supertype of change.supertypes) refuse(supertype, 'it cannot be extended');
}
