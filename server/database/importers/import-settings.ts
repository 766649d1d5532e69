import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import { isMap, type Value } from '#core/value/value.ts';
import { OperationSettings } from '../operations/operation-settings.ts';
import { type FileMapping, readMapping } from './json-mapping.ts';
import { refuseUnsupportedFormat } from './unsupported-formats.ts';

const formats = ['csv', 'json', 'jsonl', 'graphml', 'graphson', 'orientdb'] as const;
export type ImportFormat = (typeof formats)[number];

/** What one file of an import holds, when the statement says so. */
export interface ImportPart {
  readonly content: 'documents' | 'vertices' | 'edges';
  readonly url: string;
  readonly format: ImportFormat | undefined;
  readonly skipEntries: number;
  /** Names of columns; undefined: the first line. */
  readonly header: readonly string[] | undefined;
  /** Names of columns that become properties; undefined: all. */
  readonly include: ReadonlySet<string> | undefined;
}

/** Settings of IMPORT DATABASE (http-api.md 18.5). */
export interface ImportSettings {
  readonly format: ImportFormat | undefined;
  readonly parts: readonly ImportPart[];
  /** What the main file holds, when it is CSV or JSON, and how it is read. */
  readonly main: Omit<ImportPart, 'url'>;
  readonly commitEvery: number | undefined;
  readonly onRowError: 'abort' | 'skip';
  readonly documentType: string;
  readonly vertexType: string;
  readonly edgeType: string;
  /** What elements of GraphML are whose label is missing. */
  readonly graphmlTypes: { readonly vertex: string; readonly edge: string };
  /** Column or field that names a vertex for the edges. */
  readonly typeIdProperty: string | undefined;
  readonly typeIdUnique: boolean;
  readonly typeIdType: string;
  readonly edgeFromField: string | undefined;
  readonly edgeToField: string | undefined;
  readonly edgeBidirectional: boolean;
  readonly delimiter: string | undefined;
  readonly trimText: boolean;
  readonly probeOnly: boolean;
  readonly parsingLimitBytes: number | undefined;
  readonly parsingLimitEntries: number | undefined;
  /** How objects of JSON become records; undefined: as they are. */
  readonly mapping: FileMapping | undefined;
}

const countMax = Number.MAX_SAFE_INTEGER;
const partNames = ['documents', 'vertices', 'edges'] as const;
const supported = [
  'format',
  'commitEvery',
  'parallel',
  'onRowError',
  'documentType',
  'vertexType',
  'edgeType',
  'documents',
  'vertices',
  'edges',
  'documentsFileType',
  'verticesFileType',
  'edgesFileType',
  'documentsSkipEntries',
  'verticesSkipEntries',
  'edgesSkipEntries',
  'documentsHeader',
  'verticesHeader',
  'edgesHeader',
  'documentPropertiesInclude',
  'vertexPropertiesInclude',
  'edgePropertiesInclude',
  'typeIdProperty',
  'typeIdUnique',
  'typeIdType',
  'edgeFromField',
  'edgeToField',
  'edgeBidirectional',
  'delimiter',
  'trimText',
  'probeOnly',
  'parsingLimitBytes',
  'parsingLimitEntries',
  'forceDatabaseCreate',
  'mapping',
] as const;

/**
 * The settings after WITH. `parallel` and `forceDatabaseCreate` are checked and have no effect: one importer reads, and the
 * database is there.
 * @throws DatabaseError `IllegalArgument` naming the setting
 */
export function importSettings(given: Value | undefined): ImportSettings {
  const settings = new OperationSettings('import', given);
  settings.integer('parallel', 0, 1024);
  settings.flag('forceDatabaseCreate');
  const onRowError = settings.text('onRowError')?.toLowerCase() ?? 'abort';
  if (onRowError !== 'abort' && onRowError !== 'skip')
    throw new DatabaseError(
      'IllegalArgument',
      `import setting 'onRowError' is '${onRowError.slice(0, 40)}'; use 'abort' or 'skip'`,
    );
  const delimiter = settings.text('delimiter');
  if (delimiter !== undefined && (delimiter.length !== 1 || delimiter === '"'))
    throw new DatabaseError('IllegalArgument', "import setting 'delimiter' must be one character");
  const selected = settings.has('edgeFromField')
    ? 'edges'
    : settings.has('typeIdProperty') || settings.has('vertexType')
      ? 'vertices'
      : 'documents';
  const specs = {
    documents: partSpec(settings, 'documents'),
    vertices: partSpec(settings, 'vertices'),
    edges: partSpec(settings, 'edges'),
  };
  const parts = partNames.flatMap((content) => {
    const url = settings.text(content);
    return url === undefined ? [] : [{ ...specs[content], url }];
  });
  const result: ImportSettings = {
    main: specs[selected],
    format: formatOf(settings, 'format'),
    parts,
    commitEvery: settings.integer('commitEvery', 1, countMax),
    onRowError,
    documentType: settings.text('documentType') ?? 'Document',
    vertexType: settings.text('vertexType') ?? 'Node',
    edgeType: settings.text('edgeType') ?? 'Relationship',
    graphmlTypes: {
      vertex: settings.text('vertexType') ?? 'vertex',
      edge: settings.text('edgeType') ?? 'edge',
    },
    typeIdProperty: settings.text('typeIdProperty'),
    typeIdUnique: settings.flag('typeIdUnique') ?? false,
    typeIdType: settings.text('typeIdType') ?? 'String',
    edgeFromField: settings.text('edgeFromField'),
    edgeToField: settings.text('edgeToField'),
    edgeBidirectional: settings.flag('edgeBidirectional') ?? true,
    delimiter,
    trimText: settings.flag('trimText') ?? true,
    probeOnly: settings.flag('probeOnly') ?? false,
    parsingLimitBytes: settings.integer('parsingLimitBytes', 0, countMax),
    parsingLimitEntries: settings.integer('parsingLimitEntries', 0, countMax),
    mapping: mappingOf(settings),
  };
  settings.requireNoOther(supported);
  return result;
}

/** A map, or its text as JSON. */
function mappingOf(settings: OperationSettings): FileMapping | undefined {
  const text = settings.textOrMap('mapping');
  if (text === undefined) return undefined;
  if (typeof text !== 'string') return readMapping(text);
  const value = parsedMapping(text);
  if (isMap(value)) return readMapping(value);
  throw new DatabaseError('IllegalArgument', "import setting 'mapping' is no object of JSON");
}

function parsedMapping(text: string): Value {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new DatabaseError('IllegalArgument', `import setting 'mapping': ${error.message}`);
  }
}

function formatOf(settings: OperationSettings, name: string): ImportFormat | undefined {
  const text = settings.text(name)?.toLowerCase();
  if (text === undefined) return undefined;
  const found = formats.find((format) => format === text);
  if (found !== undefined) return found;
  refuseUnsupportedFormat(text);
  throw new DatabaseError(
    'IllegalArgument',
    `import setting '${name}' is '${text.slice(0, 40)}'; use one of ${formats.join(', ')}`,
  );
}

const singular = { documents: 'document', vertices: 'vertex', edges: 'edge' } as const;

/** How the file of one kind is read; the main file, when it holds this kind, is read so too. */
function partSpec(
  settings: OperationSettings,
  content: ImportPart['content'],
): Omit<ImportPart, 'url'> {
  const format = formatOf(settings, `${content}FileType`);
  const skipEntries = settings.integer(`${content}SkipEntries`, 0, countMax) ?? 0;
  const header = listOf(settings.text(`${content}Header`));
  const include = listOf(settings.text(`${singular[content]}PropertiesInclude`));
  const names = include === undefined || include.includes('*') ? undefined : new Set(include);
  return { content, format, skipEntries, header, include: names };
}

function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((name) => name.trim());
}
