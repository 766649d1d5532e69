import type { Value, ValueMap } from '#core/value/value.ts';
import { integerOf } from '../protocol/json-rpc.ts';
import { valueRows } from '../tools/statement-rows.ts';
import { ToolFailure } from '../tools/tool-failure.ts';
import type { ToolCall } from '../tools/tool.ts';

export type SearchKind = 'LSM_VECTOR' | 'LSM_SPARSE_VECTOR' | 'FULL_TEXT';

/** An index that searches ask. */
export interface SearchIndex {
  readonly name: string;
  readonly kind: string;
  readonly typeName: string;
  readonly properties: readonly string[];
  readonly metadata: ValueMap;
}

const rowsMax = 65_535;
const none: ValueMap = new Map();

/** All indexes of a database. */
export async function indexesOf(call: ToolCall, database: string): Promise<readonly SearchIndex[]> {
  const text = 'SELECT name, indexType, typeName, properties FROM schema:indexes ORDER BY name';
  const statement = { database, language: 'sql', text, mustRead: true, rowCountMax: rowsMax };
  return (await valueRows(call, statement)).map((row) => ({
    name: String(row['name']),
    kind: String(row['indexType']),
    typeName: String(row['typeName']),
    properties: Array.isArray(row['properties']) ? row['properties'].map(String) : [],
    metadata: none,
  }));
}

/**
 * The index with its METADATA.
 * @param hint what to do when it is one of another kind
 * @throws ToolFailure that lists the indexes of the kind
 */
export async function requireIndex(
  call: ToolCall,
  database: string,
  wanted: { readonly name: string; readonly kind: SearchKind; readonly hint?: string },
): Promise<SearchIndex> {
  const indexes = await indexesOf(call, database);
  const { name, kind, hint = '' } = wanted;
  const suitable = indexes.filter((index) => index.kind === kind).map((index) => index.name);
  const available = `available: ${suitable.join(', ') || 'none'}`;
  const index = indexes.find((known) => known.name === name);
  if (index === undefined)
    throw new ToolFailure(`Index '${name}' does not exist; ${kind} indexes ${available}`);
  if (index.kind !== kind)
    throw new ToolFailure(
      `Index '${name}' is of type ${index.kind}, not ${kind}${hint}; ${available}`,
    );
  return { ...index, metadata: await metadataOf(call, database, index.name) };
}

async function metadataOf(call: ToolCall, database: string, name: string): Promise<ValueMap> {
  const text = `SELECT metadata FROM schema:index:\`${name.replaceAll('`', '')}\``;
  const statement = { database, language: 'sql', text, mustRead: true, rowCountMax: 1 };
  const [row] = await valueRows(call, statement);
  const metadata = row?.['metadata'];
  return metadata instanceof Map ? (metadata as ValueMap) : none;
}

/** An integer of the METADATA; 0 when it is not there. */
export function metadataInteger({ metadata }: SearchIndex, key: string): number {
  return integerOf(metadata.get(key)) ?? 0;
}

/** A word of the METADATA in upper case. */
export function metadataWord({ metadata }: SearchIndex, key: string, otherwise: string): string {
  const value: Value | undefined = metadata.get(key);
  return typeof value === 'string' ? value.toUpperCase() : otherwise;
}

/** A text as it stands in a statement. */
export function quotedText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
