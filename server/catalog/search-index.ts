import { DatabaseError } from '#core/errors.ts';
import { kindOf, type Value, type ValueMap } from '#core/value/value.ts';
import type { IndexComponent, IndexKind, PropertyDefinition } from './catalog.ts';
import { didYouMean } from './name-rules.ts';

/** The kinds of index that searches ask; they are made with METADATA (sql.md 13.10). */
export type SearchKind = Exclude<IndexKind, 'LSM_TREE' | 'HASH'>;

export function isSearchKind(kind: IndexKind): kind is SearchKind {
  return kind !== 'LSM_TREE' && kind !== 'HASH';
}

/** Kinds that cannot hold every value of their properties, which is found out at the write. */
export function isCheckedKind(kind: IndexKind): boolean {
  return kind === 'LSM_VECTOR' || kind === 'LSM_SPARSE_VECTOR' || kind === 'GEOSPATIAL';
}

/** Short names of analyzers; class names of the reference engine end with one of them and `Analyzer`. */
export const analyzerNames = [
  'standard',
  'simple',
  'whitespace',
  'keyword',
  'stop',
  'english',
  'danish',
  'dutch',
  'finnish',
  'french',
  'german',
  'hungarian',
  'italian',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'spanish',
  'swedish',
] as const;
export type AnalyzerName = (typeof analyzerNames)[number];

/** The analyzer that a short name or a class name means: `english`, `org.apache.lucene.analysis.en.EnglishAnalyzer`. */
export function analyzerNamed(text: string): AnalyzerName | undefined {
  const last = text.trim().split('.').at(-1) ?? '';
  const short = last.replace(/Analyzer$/iu, '').toLowerCase();
  return analyzerNames.find((name) => name === short);
}

/** Dimensions of one vector. */
export const vectorDimensionsMax = 65_535;

/** @throws DatabaseError `IllegalArgument` for a value that the key does not take; `what` names the key and the kind */
type Check = (value: Value, what: string) => void;

const integerFrom =
  (low: number, high = Number.MAX_SAFE_INTEGER): Check =>
  (value, what) => {
    const number = numberOf(value);
    if (number === undefined || !Number.isInteger(number))
      throw refused(what, value, 'an integer is required');
    if (number < low) throw refused(what, value, `it must be at least ${low}`);
    if (number > high) throw refused(what, value, `it must be at most ${high}`);
  };

const numberFrom =
  (low: number, high = Number.POSITIVE_INFINITY): Check =>
  (value, what) => {
    const number = numberOf(value);
    if (number === undefined || !Number.isFinite(number))
      throw refused(what, value, 'a number is required');
    if (number < low) throw refused(what, value, `it must be at least ${low}`);
    if (number > high) throw refused(what, value, `it must be at most ${high}`);
  };

const boolean: Check = (value, what) => {
  if (typeof value !== 'boolean') throw refused(what, value, 'true or false is required');
};

const text: Check = (value, what) => {
  if (typeof value !== 'string' || value === '') throw refused(what, value, 'a name is required');
};

const wordOf =
  (...words: readonly string[]): Check =>
  (value, what) => {
    if (typeof value !== 'string' || !words.includes(value.toUpperCase()))
      throw refused(what, value, `use ${words.join(', ')}`);
  };

const analyzer: Check = (value, what) => {
  if (typeof value === 'string' && analyzerNamed(value) !== undefined) return;
  throw refused(what, value, `use one of ${analyzerNames.join(', ')}`);
};

const keysOfKind: Readonly<Record<SearchKind, Readonly<Record<string, Check>>>> = {
  FULL_TEXT: {
    analyzer,
    index_analyzer: analyzer,
    query_analyzer: analyzer,
    allowLeadingWildcard: boolean,
    defaultOperator: wordOf('OR', 'AND'),
    similarity: wordOf('BM25', 'CLASSIC'),
    bm25_k1: numberFrom(0),
    bm25_b: numberFrom(0, 1),
  },
  LSM_VECTOR: {
    dimensions: integerFrom(1, vectorDimensionsMax),
    similarity: wordOf('COSINE', 'DOT_PRODUCT', 'EUCLIDEAN'),
    quantization: wordOf('NONE', 'INT8', 'BINARY', 'PRODUCT'),
    encoding: wordOf('FLOAT32', 'INT8'),
    maxConnections: integerFrom(1, 1024),
    beamWidth: integerFrom(1, 100_000),
    efSearch: integerFrom(1, 100_000),
    neighborOverflowFactor: numberFrom(1, 100),
    alphaDiversityRelaxation: numberFrom(1, 100),
    idPropertyName: text,
    addHierarchy: boolean,
    storeVectorsInGraph: boolean,
    mutationsBeforeRebuild: integerFrom(1),
    inactivityRebuildTimeoutMs: integerFrom(1),
    pqSubspaces: integerFrom(1, vectorDimensionsMax),
    pqClusters: integerFrom(1, 256),
    pqCenterGlobally: boolean,
    pqTrainingLimit: integerFrom(1),
    buildGraphNow: boolean,
  },
  LSM_SPARSE_VECTOR: {
    dimensions: integerFrom(0),
    modifier: wordOf('NONE', 'IDF'),
    weightQuantization: wordOf('INT8', 'FP16', 'FP32'),
  },
  GEOSPATIAL: { precision: integerFrom(1, 12), tokenization: wordOf('FRONTIER', 'FULL') },
};

/**
 * Refuses METADATA that the kind does not take: unknown keys, values of another kind or out of range, and what is missing.
 * @throws DatabaseError `IllegalArgument`
 */
export function requireSearchMetadata(
  kind: SearchKind,
  metadata: ValueMap,
  components: readonly IndexComponent[],
): void {
  const known = keysOfKind[kind];
  const fields = components.map(({ property }) => property);
  for (const [key, value] of metadata) {
    const check = Object.hasOwn(known, key) ? known[key] : fieldCheck(kind, key, fields);
    if (check === undefined) {
      const help = didYouMean(key, Object.keys(known));
      throw new DatabaseError(
        'IllegalArgument',
        `unknown METADATA key '${key.slice(0, 100)}' for index type '${kind}'; it takes ${Object.keys(known).join(', ')}`,
        help === undefined ? {} : { help },
      );
    }
    check(value, `METADATA '${key}' of index type '${kind}'`);
  }
  if (kind !== 'LSM_VECTOR') return;
  if (!metadata.has('dimensions'))
    throw new DatabaseError(
      'IllegalArgument',
      "index type 'LSM_VECTOR' requires METADATA with 'dimensions'",
      { help: 'CREATE INDEX ON Doc (embedding) LSM_VECTOR METADATA {"dimensions": 384}' },
    );
  const subspaces = numberOf(metadata.get('pqSubspaces') ?? null);
  const dimensions = numberOf(metadata.get('dimensions') ?? null) ?? 0;
  if (subspaces !== undefined && subspaces > dimensions)
    throw refused(
      "METADATA 'pqSubspaces' of index type 'LSM_VECTOR'",
      subspaces,
      `it must be at most the ${dimensions} dimensions`,
    );
}

/** `<field>_analyzer` and `<field>_boost` of the indexed properties. */
function fieldCheck(kind: SearchKind, key: string, fields: readonly string[]): Check | undefined {
  if (kind !== 'FULL_TEXT') return undefined;
  for (const field of fields) {
    if (key === `${field}_analyzer`) return analyzer;
    if (key === `${field}_boost`) return numberFrom(0);
  }
  return undefined;
}

/** Which properties the kind indexes. @throws DatabaseError `Schema` */
export function requireSearchComponents(
  kind: SearchKind,
  indexName: string,
  properties: readonly {
    readonly component: IndexComponent;
    readonly declared: PropertyDefinition;
  }[],
): void {
  const wanted = { FULL_TEXT: undefined, LSM_VECTOR: 1, LSM_SPARSE_VECTOR: 2, GEOSPATIAL: 1 }[kind];
  if (wanted !== undefined && properties.length !== wanted)
    throw new DatabaseError(
      'Schema',
      `index '${indexName}' of type ${kind} takes ${wanted === 1 ? 'one property' : 'two properties (indices, weights)'}, not ${properties.length}`,
    );
  properties.forEach(({ component, declared }, at) => {
    if (component.by === 'mapKey' || component.by === 'mapValue')
      throw new DatabaseError(
        'Schema',
        `BY KEY and BY VALUE are not supported by index type '${kind}'`,
      );
    if (declared.name !== component.property || takes(kind, declared, at)) return;
    throw new DatabaseError(
      'Schema',
      `Cannot create the index '${indexName}' of type ${kind} on '${declared.name}' of type ${typeText(declared)}: it takes ${taken(kind, at)}`,
    );
  });
}

function takes(kind: SearchKind, { type, ofType }: PropertyDefinition, at: number): boolean {
  const isListOf = (...names: readonly string[]) =>
    type === 'LIST' && ofType !== undefined && names.includes(ofType.toUpperCase());
  switch (kind) {
    case 'FULL_TEXT':
      // Of other values than texts it holds nothing.
      return (
        type === 'STRING' ||
        type === 'ANY' ||
        (type === 'LIST' && (ofType === undefined || isListOf('STRING')))
      );
    case 'LSM_VECTOR':
      return type === 'ARRAY_OF_FLOATS' || isListOf('FLOAT', 'DOUBLE');
    case 'LSM_SPARSE_VECTOR':
      return at === 0
        ? type === 'ARRAY_OF_INTEGERS' || isListOf('INTEGER', 'LONG')
        : type === 'ARRAY_OF_FLOATS' || isListOf('FLOAT', 'DOUBLE');
    case 'GEOSPATIAL':
      return type === 'STRING' || type === 'ANY';
  }
}

function taken(kind: SearchKind, at: number): string {
  if (kind === 'FULL_TEXT') return 'STRING, LIST OF STRING or ANY';
  if (kind === 'GEOSPATIAL') return 'STRING with WKT, or ANY';
  if (kind === 'LSM_SPARSE_VECTOR' && at === 0) return 'ARRAY_OF_INTEGERS or LIST OF INTEGER';
  return 'ARRAY_OF_FLOATS or LIST OF FLOAT';
}

function typeText({ type, ofType }: PropertyDefinition): string {
  return ofType === undefined ? type : `${type} OF ${ofType}`;
}

function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (value !== null && typeof value === 'object' && 'valueKind' in value)
    return value.valueKind === 'float' ? value.number : undefined;
  return undefined;
}

function refused(what: string, value: Value, why: string): DatabaseError {
  const shown = typeof value === 'string' ? `'${value.slice(0, 60)}'` : scalarText(value);
  return new DatabaseError('IllegalArgument', `${what} cannot be ${shown}: ${why}`);
}

function scalarText(value: Value): string {
  const number = numberOf(value);
  if (number !== undefined) return String(number);
  return value === null || typeof value === 'boolean' ? String(value) : `a ${kindOf(value)}`;
}
