import { DatabaseError } from '#core/errors.ts';
import type { RecordKind } from '#core/value/record.ts';
import type { AppliedChange } from './applied-change.ts';
import { nextCatalog, row, unchanged } from './applied-change.ts';
import type { CatalogValue } from '../catalog-value.ts';
import { typeHint } from '../catalog-value.ts';
import type { DefinitionChange } from './definition-changes.ts';
import {
  type DefinitionParts,
  type FunctionDefinition,
  fullName,
  type GraphViewDefinition,
  type TriggerDefinition,
} from '../definitions.ts';
import { didYouMean, requireName } from '../name-rules.ts';

type Change<K extends DefinitionChange['kind']> = Extract<DefinitionChange, { kind: K }>;

/** A database holds at most this many triggers, functions and views of each kind. */
export const definitionCountMax = 10_000;

// --- triggers (sql.md 14.1)

export function createTrigger(
  catalog: CatalogValue,
  change: Change<'create-trigger'>,
): AppliedChange {
  const { name, timing, event, action, language } = change;
  const fields = { timing, event, typeName: change.type, actionType: language };
  const answer = (created: boolean) =>
    row({ operation: 'create trigger', name, ...fields, created });
  const { triggers } = catalog.definitions.parts;
  if (catalog.definitions.trigger(name) !== undefined) {
    if (change.ifNotExists) return unchanged(catalog, [answer(false)]);
    throw new DatabaseError('Schema', `Trigger '${name}' already exists`);
  }
  requireName('trigger', name);
  if (language === 'JAVA')
    throw new DatabaseError('NotSupported', `not supported: ${language} triggers`);
  const type = catalog.typeNamed(change.type);
  if (type === undefined)
    throw new DatabaseError(
      'Schema',
      `Type '${change.type}' does not exist`,
      typeHint(catalog, change.type),
    );
  if (catalog.definitions.hooks(type.id)?.view !== undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `'${type.name}' is a materialized view: create the trigger on the types that it reads`,
    );
  const plain: TriggerDefinition = { name, timing, event, type: type.id, action };
  const made = language === 'JAVASCRIPT' ? { ...plain, language } : plain;
  return withDefinitions(catalog, { triggers: added('triggers', triggers, made) }, answer(true));
}

export function dropTrigger(catalog: CatalogValue, change: Change<'drop-trigger'>): AppliedChange {
  const answer = (dropped: boolean) =>
    row({ operation: 'drop trigger', triggerName: change.name, dropped });
  const { triggers } = catalog.definitions.parts;
  const left = triggers.filter(({ name }) => name !== change.name);
  if (left.length < triggers.length)
    return withDefinitions(catalog, { triggers: left }, answer(true));
  if (change.ifExists) return unchanged(catalog, [answer(false)]);
  throw new DatabaseError(
    'Schema',
    `Trigger not found: ${change.name}`,
    hint(
      change.name,
      triggers.map(({ name }) => name),
    ),
  );
}

// --- functions (sql.md 14.2)

export function defineFunction(
  catalog: CatalogValue,
  change: Change<'define-function'>,
): AppliedChange {
  const { library, name, parameters, body } = change;
  const { functions } = catalog.definitions.parts;
  requireName('function library', library);
  requireName('function', name);
  const language = functionLanguage(catalog, change);
  if (catalog.definitions.functionNamed(fullName(change)) !== undefined)
    throw new DatabaseError(
      'Schema',
      `Function '${fullName(change)}' already exists; delete it first`,
    );
  const twice = parameters.find((parameter, at) => parameters.indexOf(parameter) !== at);
  if (twice !== undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `function '${fullName(change)}' has two parameters '${twice}'`,
    );
  const made: FunctionDefinition = { library, name, parameters, language, body };
  return withDefinitions(
    catalog,
    { functions: added('functions', functions, made) },
    row({ operation: 'create function', libraryName: library, functionName: name }),
  );
}

const otherNames: ReadonlyMap<string, string> = new Map([
  ['javascript', 'js'],
  ['opencypher', 'cypher'],
]);

/** Other languages are refused after the rights were checked, so that who may not use them learns nothing else. */
function functionLanguage(
  catalog: CatalogValue,
  change: Change<'define-function'>,
): FunctionDefinition['language'] {
  const { library } = change;
  const language = otherNames.get(change.language) ?? change.language;
  const known = catalog.definitions.parts.functions.find((other) => other.library === library);
  if (language === 'sql' || language === 'js' || language === 'cypher') {
    if (known === undefined || known.language === language) return language;
    throw new DatabaseError(
      'IllegalArgument',
      `library '${library}' holds functions in ${known.language}, not in ${language}`,
    );
  }
  // House decision 28.
  if (language === 'java')
    throw new DatabaseError('NotSupported', 'not supported: functions in java');
  const rule =
    known === undefined ? '' : `; library '${library}' holds functions in ${known.language}`;
  throw new DatabaseError(
    'IllegalArgument',
    `unknown language '${language}' of a function, expected sql, cypher or js${rule}`,
  );
}

export function deleteFunction(
  catalog: CatalogValue,
  change: Change<'delete-function'>,
): AppliedChange {
  const { functions } = catalog.definitions.parts;
  const wanted = fullName(change);
  const found = catalog.definitions.functionNamed(wanted);
  const left = functions.filter((defined) => defined !== found);
  if (left.length === functions.length)
    throw new DatabaseError(
      'Schema',
      `Function '${wanted}' was not found`,
      hint(wanted, functions.map(fullName)),
    );
  const { library, name } = change;
  return withDefinitions(
    catalog,
    { functions: left },
    row({ operation: 'delete function', libraryName: library, functionName: name }),
  );
}

// --- graph analytical views (sql.md 14.4)

export function createGraphView(
  catalog: CatalogValue,
  change: Change<'create-graph-view'>,
): AppliedChange {
  const { kind: _, ifNotExists, ...view } = change;
  const { name } = view;
  const answer = (created: boolean) =>
    row({ operation: 'create graph analytical view', name, created });
  const { graphViews } = catalog.definitions.parts;
  if (catalog.definitions.graphView(name) !== undefined) {
    if (ifNotExists) return unchanged(catalog, [answer(false)]);
    throw new DatabaseError('Schema', `Graph analytical view '${name}' already exists`);
  }
  requireName('graph analytical view', name);
  for (const type of view.vertexTypes) requireKind(catalog, type, 'vertex');
  for (const type of view.edgeTypes) requireKind(catalog, type, 'edge');
  requireThreshold(view.compactionThreshold);
  const made: GraphViewDefinition = view;
  const more = { graphViews: added('graph analytical views', graphViews, made) };
  return withDefinitions(catalog, more, answer(true));
}

function requireKind(catalog: CatalogValue, name: string, kind: RecordKind): void {
  const type = catalog.typeNamed(name);
  if (type === undefined)
    throw new DatabaseError(
      'Schema',
      `Type with name '${name}' was not found`,
      typeHint(catalog, name),
    );
  if (type.kind !== kind)
    throw new DatabaseError('IllegalArgument', `Type '${name}' is not ${article[kind]} type`);
}

const article = { document: 'a document', vertex: 'a vertex', edge: 'an edge' } as const;

function requireThreshold(threshold: number): void {
  if (Number.isInteger(threshold) && threshold >= 0) return;
  throw new DatabaseError(
    'IllegalArgument',
    `COMPACTION THRESHOLD must not be negative, but is ${threshold}`,
  );
}

export function alterGraphView(
  catalog: CatalogValue,
  change: Change<'alter-graph-view'>,
): AppliedChange {
  const view = requireGraphView(catalog, change.name);
  const { updateMode, compactionThreshold } = change;
  if (compactionThreshold !== undefined) requireThreshold(compactionThreshold);
  const altered = {
    ...(updateMode === undefined ? {} : { updateMode }),
    ...(compactionThreshold === undefined ? {} : { compactionThreshold }),
  };
  const graphViews = catalog.definitions.parts.graphViews.map((other) =>
    other === view ? { ...view, ...altered } : other,
  );
  const fields = { operation: 'alter graph analytical view', name: change.name, ...altered };
  return withDefinitions(catalog, { graphViews }, row(fields));
}

/** Nothing is kept beside the definition, so it is always ready. */
export function rebuildGraphView(
  catalog: CatalogValue,
  { name }: Change<'rebuild-graph-view'>,
): AppliedChange {
  requireGraphView(catalog, name);
  return unchanged(catalog, [
    row({ operation: 'rebuild graph analytical view', name, status: 'READY' }),
  ]);
}

export function dropGraphView(
  catalog: CatalogValue,
  change: Change<'drop-graph-view'>,
): AppliedChange {
  const { name, ifExists } = change;
  const answer = (dropped: boolean) =>
    row({ operation: 'drop graph analytical view', name, dropped });
  if (ifExists && catalog.definitions.graphView(name) === undefined)
    return unchanged(catalog, [answer(false)]);
  const view = requireGraphView(catalog, name);
  const graphViews = catalog.definitions.parts.graphViews.filter((other) => other !== view);
  return withDefinitions(catalog, { graphViews }, answer(true));
}

function requireGraphView(catalog: CatalogValue, name: string): GraphViewDefinition {
  const view = catalog.definitions.graphView(name);
  if (view !== undefined) return view;
  const { graphViews } = catalog.definitions.parts;
  throw new DatabaseError(
    'Schema',
    `Graph analytical view '${name}' was not found`,
    hint(
      name,
      graphViews.map((other) => other.name),
    ),
  );
}

// --- for all of them

/** `help` of an error about an unknown name. */
export function hint(name: string, known: Iterable<string>): { help?: string } {
  const help = didYouMean(name, known);
  return help === undefined ? {} : { help };
}

/** @throws DatabaseError `SchemaLimit` when the database holds as many as it may */
export function added<T>(what: string, list: readonly T[], item: T): readonly T[] {
  if (list.length >= definitionCountMax)
    throw new DatabaseError('SchemaLimit', `a database has at most ${definitionCountMax} ${what}`);
  return [...list, item];
}

/** The catalog with other definitions, and the row that tells it. */
export function withDefinitions(
  catalog: CatalogValue,
  changed: Partial<DefinitionParts>,
  answer: AppliedChange['rows'][number],
): AppliedChange {
  const definitions = { ...catalog.definitions.parts, ...changed };
  return { catalog: nextCatalog(catalog, { definitions }), rows: [answer], effects: [] };
}
