import { applyChange } from '#catalog/change/apply-change.ts';
import { emptyCatalog } from '#catalog/catalog-value.ts';
import { decodeCatalog, encodeCatalog } from '#catalog/catalog-codec.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { runGoldenFile } from '#test/support/datadriven.ts';
import { emptyDatabase } from './catalog-builder.ts';

// Goal: rows and messages of every schema statement (sql.md 13). The input is the change as JSON with its defaults left out;
// `filled` names buckets that hold records. After each change the catalog must survive its codec.

const defaults: { readonly [kind: string]: object } = {
  'create-type': {
    type: 'document',
    ifNotExists: false,
    supertypes: [],
    buckets: [],
    bucketCount: undefined,
    bidirectional: true,
    lightweight: false,
    uniqueEdges: false,
    custom: {},
  },
  'drop-type': { ifExists: false, unsafe: false },
  'create-property': { ifNotExists: false, attributes: [], custom: {} },
  'alter-property': { attributes: [], custom: {} },
  'drop-property': { ifExists: false, force: false },
  'create-bucket': { ifNotExists: false },
  'drop-bucket': { ifExists: false },
  'create-index': {
    ifNotExists: false,
    indexKind: 'LSM_TREE',
    unique: false,
    nullStrategy: 'SKIP',
    metadata: {},
  },
  'drop-index': { ifExists: false },
};

function toChange(text: string): SchemaChange {
  const given = JSON.parse(text) as { kind: string; [key: string]: unknown };
  const change: { [key: string]: unknown } = { ...defaults[given.kind], ...given };
  for (const key of ['custom', 'metadata']) {
    if (change[key] !== undefined) change[key] = new Map(Object.entries(change[key] as object));
  }
  if (given.kind === 'create-index') {
    const names = given['on'] as string[];
    change['componentText'] ??= names.join(', ');
    change['components'] ??= names.map((name) => ({
      property: name.split(' ')[0],
      by:
        { key: 'mapKey', value: 'mapValue', item: 'item' }[name.split(' by ')[1] ?? ''] ?? 'value',
      caseInsensitive: false,
    }));
  }
  return change as unknown as SchemaChange;
}

function show(value: Value | ValueMap): unknown {
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([k, v]) => [k, show(v as Value)]));
  }
  return Array.isArray(value) ? value.map(show) : value;
}

const file = new URL('./changes.txt', import.meta.url);
let catalog = emptyCatalog();

runGoldenFile(file, ({ command, options, input }) => {
  if (command === 'reset') {
    catalog = emptyCatalog();
    return 'ok';
  }
  const filled = new Set((options.get('filled') ?? '').split(','));
  const context = {
    ...emptyDatabase,
    recordCount: (id: number) =>
      filled.has(catalog.bucketWithId(id as never)?.name ?? '') ? 1 : 0,
  };
  try {
    const result = applyChange(catalog, toChange(input), context);
    catalog = decodeCatalog(encodeCatalog(result.catalog));
    const lines = result.rows.map((r) => JSON.stringify(show(r)));
    for (const effect of result.effects) {
      const on = 'index' in effect ? effect.index.name : 'bucket' in effect ? effect.bucket : '';
      lines.push(`effect ${effect.kind} ${on}`.trimEnd());
    }
    return lines.length === 0 ? 'no rows' : lines.join('\n');
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const help = error.help === undefined ? '' : `\n${error.help}`;
    return `${error.code}: ${error.message}${help}`;
  }
});
