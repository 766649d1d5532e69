import type { IndexComponent } from '#catalog/catalog.ts';
import type { AlterTypeItem, PropertyAttribute, SchemaChange } from '#catalog/change/changes.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Expression } from '../../ast.ts';
import type * as syntax from '../../statements.ts';
import type { Analysis, AnalyzedQuery } from '../analysis.ts';
import { constantMap, constantOf, literalValueOf } from '../expression/constant.ts';
import { requireDefault } from '../expression/default-expression.ts';
import { maintenance } from '../maintain.ts';
import { nameOf } from '../write/write.ts';

/** Schema statements (sql.md 13): each is one `Alter` node, whose rows come from the catalog. */
export function analyzeSchemaStatement(
  analysis: Analysis,
  node: syntax.SchemaStatement,
): AnalyzedQuery {
  const change = changeOf(analysis, node);
  if (change.kind !== 'alter-type' || !change.items.some(isRepartition))
    return alteration(analysis, change);
  const type = analysis.type(change.name).id;
  const items = change.items.filter((item) => !isRepartition(item));
  return maintenance(analysis, { kind: 'repartition', type, change: { ...change, items } });
}

/** `WITH repartition = true` moves records, which a change of the schema does not. */
function isRepartition(item: AlterTypeItem): boolean {
  if (item.kind !== 'setting' || item.name.toLowerCase() !== 'repartition') return false;
  return item.value === true || String(item.value).toLowerCase() === 'true';
}

/** A change of the schema as a statement. */
export function alteration(analysis: Analysis, change: SchemaChange): AnalyzedQuery {
  const as = analysis.slots.next();
  analysis.writeCount += 1;
  return {
    plan: { op: 'Alter', change, as },
    output: { kind: 'value', slot: as },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

function changeOf(analysis: Analysis, node: syntax.SchemaStatement): SchemaChange {
  switch (node.kind) {
    case 'createType':
      return createType(analysis, node);
    case 'alterType':
      return {
        kind: 'alter-type',
        name: node.name,
        items: [
          ...node.items.map((item) => alterItem(analysis, item)),
          ...node.settings.map(
            (setting): AlterTypeItem => ({
              kind: 'setting',
              name: setting.name,
              value: constantOf(analysis, setting.value, setting.name),
            }),
          ),
        ],
      };
    case 'dropType':
      return dropType(analysis, node);
    case 'createProperty':
      return createProperty(analysis, node);
    case 'alterProperty':
      return {
        kind: 'alter-property',
        type: node.type,
        property: node.property,
        attributes: node.attributes.map((attribute) => attributeOf(analysis, attribute)),
        custom: constantMap(analysis, node.custom, 'custom attribute'),
      };
    case 'dropProperty':
      return {
        kind: 'drop-property',
        type: node.type,
        property: node.property,
        ifExists: node.ifExists,
        force: node.isForced,
      };
    case 'createBucket':
      return { kind: 'create-bucket', name: node.name, ifNotExists: node.ifNotExists };
    case 'dropBucket':
      return { kind: 'drop-bucket', bucket: node.bucket, ifExists: node.ifExists };
    case 'createIndex':
      return createIndex(analysis, node);
    default:
      return node.name === undefined
        ? { kind: 'drop-all-indexes' }
        : { kind: 'drop-index', name: node.name, ifExists: node.ifExists };
  }
}

function createType(analysis: Analysis, node: syntax.CreateType): SchemaChange {
  return {
    kind: 'create-type',
    type: node.recordKind,
    name: nameOf(analysis, node.name),
    ifNotExists: node.ifNotExists,
    supertypes: node.supertypes.map((supertype) => nameOf(analysis, supertype)),
    buckets: node.buckets,
    bucketCount: node.bucketCount,
    custom: constantMap(analysis, node.custom, 'custom attribute'),
    bidirectional: !node.isUnidirectional,
    lightweight: node.isLightweight,
    uniqueEdges: node.isUnique,
  };
}

function alterItem(analysis: Analysis, item: syntax.AlterTypeItem): AlterTypeItem {
  switch (item.kind) {
    case 'bucketStrategy':
      return { kind: 'bucket-strategy', strategy: item.strategy };
    case 'custom': {
      const value = constantOf(analysis, item.value, `custom attribute ${item.key}`);
      return { kind: 'custom', key: item.key, value };
    }
    default:
      return item;
  }
}

function dropType(analysis: Analysis, node: syntax.DropType): SchemaChange {
  const name =
    'kind' in node.name
      ? String(analysis.nameParameter(node.name.name))
      : nameOf(analysis, node.name);
  return {
    kind: 'drop-type',
    name,
    ifExists: node.ifExists,
    unsafe: node.isUnsafe,
  };
}

function createProperty(analysis: Analysis, node: syntax.CreateProperty): SchemaChange {
  return {
    kind: 'create-property',
    type: nameOf(analysis, node.type),
    property: nameOf(analysis, node.property),
    ifNotExists: node.ifNotExists,
    dataType: node.dataType,
    ofType: node.ofType,
    attributes: node.attributes.map((attribute) => attributeOf(analysis, attribute)),
    custom: constantMap(analysis, node.custom, 'custom attribute'),
  };
}

function attributeOf(analysis: Analysis, attribute: syntax.PropertyAttribute): PropertyAttribute {
  const { name, value } = attribute;
  if (value === undefined) return { name, value: true };
  const constant = name.toLowerCase() === 'default' ? literalValueOf(analysis, value) : undefined;
  return {
    name,
    value: attributeValue(analysis, name.toLowerCase(), value),
    ...(constant !== undefined && { constant }),
  };
}

function attributeValue(analysis: Analysis, name: string, node: Expression): Value {
  if (name === 'default') {
    if (node.kind === 'literal' && node.value === null) return null;
    requireDefault(analysis.text, node);
    return analysis.text.slice(node.at, node.end);
  }
  // These are written as bare words; the catalog refuses to change name and type.
  const takesWord = name === 'compression' || name === 'name' || name === 'type';
  if (takesWord && node.kind === 'name') return node.name;
  return constantOf(analysis, node, `attribute '${name}'`);
}

function createIndex(analysis: Analysis, node: syntax.CreateIndex): SchemaChange {
  if (node.components.length === 0)
    throw new DatabaseError('NotSupported', 'not supported: manual index');
  const components = node.components.map(
    ({ path, by, caseInsensitive }): IndexComponent => ({
      property: path.map((name) => nameOf(analysis, name)).join('.'),
      by,
      caseInsensitive,
    }),
  );
  return {
    kind: 'create-index',
    name: node.name && nameOf(analysis, node.name),
    ifNotExists: node.ifNotExists,
    type: nameOf(analysis, node.type),
    components,
    componentText: components.map(componentName).join(','),
    indexKind: node.indexKind,
    unique: node.isUnique,
    nullStrategy: node.nullStrategy,
    metadata: metadataOf(analysis, node.metadata),
  };
}

/** A component in the default name of its index: the BY clause is part of it, blanks are not (sql.md 13.10.1). */
function componentName(component: IndexComponent): string {
  const suffix = { value: '', mapKey: 'bykey', mapValue: 'byvalue', item: 'byitem' }[component.by];
  return component.property.replace(/\s/g, '') + suffix;
}

function metadataOf(analysis: Analysis, node: Expression | undefined): ValueMap {
  if (node === undefined) return new Map();
  const value = constantOf(analysis, node, 'METADATA');
  if (value instanceof Map) return value;
  throw new DatabaseError('IllegalArgument', 'METADATA must be a map');
}
