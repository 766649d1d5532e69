import type { Value, ValueMap } from '#core/value/value.ts';
import { ToolFailure } from '../tools/tool-failure.ts';
import { type ToolStatement, valueRows } from '../tools/statement-rows.ts';
import type { ToolCall } from '../tools/tool.ts';

/** A type as `schema:types` tells it. */
export interface SchemaType {
  readonly name: string;
  readonly category: 'vertex' | 'edge' | 'document';
  readonly parentTypes: readonly string[];
  readonly properties: readonly ValueMap[];
  readonly indexes: readonly ValueMap[];
}

const schemaRowsMax = 65_535;

const statement = (database: string): ToolStatement => ({
  database,
  language: 'sql',
  text: 'SELECT name, type, parentTypes, properties, indexes FROM schema:types ORDER BY name',
  mustRead: true,
  rowCountMax: schemaRowsMax,
});

/** All types that the caller sees, by name. */
export async function schemaTypes(
  call: ToolCall,
  database: string,
): Promise<readonly SchemaType[]> {
  const rows = await valueRows(call, statement(database));
  return rows.map((row) => ({
    name: String(row['name']),
    category: row['type'] as SchemaType['category'],
    parentTypes: listOf(row['parentTypes']).map(String),
    properties: listOf(row['properties']).filter((item) => item instanceof Map) as ValueMap[],
    indexes: listOf(row['indexes']).filter((item) => item instanceof Map) as ValueMap[],
  }));
}

/** @throws ToolFailure */
export async function requireType(
  call: ToolCall,
  database: string,
  name: string,
): Promise<SchemaType> {
  const types = await schemaTypes(call, database);
  const type = types.find((known) => known.name === name);
  if (type !== undefined) return type;
  throw new ToolFailure(`Type '${name}' does not exist in database '${database}'`);
}

/** The document of tool `get_schema` and of the schema resources (contract 2; mcp.md 4.2), as JSON. */
export async function schemaDocument(call: ToolCall, database: string): Promise<string> {
  const types = await schemaTypes(call, database);
  return JSON.stringify({ database, types: types.map(typeDocument) });
}

function typeDocument({ name, category, parentTypes, properties, indexes }: SchemaType) {
  return {
    name,
    category,
    parentTypes,
    properties: properties.map(propertyDocument),
    indexes: indexes.map(indexDocument),
  };
}

/** Told only when they are set. */
const extras = ['default', 'min', 'max', 'ofType', 'regexp'] as const;

function propertyDocument(property: ValueMap) {
  const document: Record<string, unknown> = {
    name: textOf(property.get('name')),
    type: textOf(property.get('type')),
    mandatory: property.get('mandatory') === true,
    readonly: (property.get('readonly') ?? property.get('readOnly')) === true,
    notNull: property.get('notNull') === true,
  };
  for (const extra of extras) {
    const value = property.get(extra) ?? null;
    if (value !== null) document[extra] = textOf(value);
  }
  return document;
}

function indexDocument(index: ValueMap) {
  return {
    name: textOf(index.get('name')),
    type: textOf(index.get('type') ?? index.get('indexType')),
    properties: listOf(index.get('properties')).map(textOf),
    unique: index.get('unique') === true,
  };
}

function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : String(value ?? '');
}

function listOf(value: Value | undefined): readonly Value[] {
  return Array.isArray(value) ? (value as readonly Value[]) : [];
}
