import { DatabaseError } from '#core/errors.ts';
import type { PropertyId, TypeId } from '#core/value/rid.ts';
import type {
  BucketDefinition,
  IndexDefinition,
  IndexKind,
  PropertyDefinition,
  TypeDefinition,
} from './catalog.ts';
import { type CatalogParts, CatalogValue } from './catalog-value.ts';
import { type DefinitionParts, noDefinitions } from './definitions.ts';
import {
  decodePairs,
  decodeValue,
  encodePairs,
  encodeValue,
  type ValueDocument,
} from './value-document.ts';

/** Version of the document; a newer one is refused instead of being misread. */
export const schemaDocumentFormat = 1;
/** A document with `features`: what it holds is not understood by whoever does not know each of them. */
const featuredFormat = 3;
/** Buckets with rows of several types (`BucketDefinition.windowOn`), since 2026-11-23. */
const windowsFeature = 'bucket-windows';
const knownFeatures: readonly string[] = [windowsFeature];

/** Total over the kinds, so that a new one is named here. */
const knownKinds: Readonly<Record<IndexKind, true>> = {
  LSM_TREE: true,
  HASH: true,
  FULL_TEXT: true,
  LSM_VECTOR: true,
  LSM_SPARSE_VECTOR: true,
  GEOSPATIAL: true,
};

const text = new TextEncoder();
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The schema document: JSON whose object keys are all ours, while every name a user gave is a string value, so hostile names
 * are only data. Written by `schema` operations, kept in `meta` under `schema`. Equal catalogs give equal bytes.
 */
export function encodeCatalog(catalog: CatalogValue): Uint8Array {
  const { types, indexes, definitions, ...rest } = catalog.parts;
  return text.encode(
    JSON.stringify({
      ...(catalog.hasWindows
        ? { format: featuredFormat, features: [windowsFeature] }
        : { format: schemaDocumentFormat }),
      ...rest,
      types: types.map((type) => ({
        ...type,
        custom: encodePairs(type.custom),
        properties: [...type.properties.values()].map(encodeProperty),
      })),
      indexes: indexes.map((index) => ({ ...index, metadata: encodePairs(index.metadata) })),
      ...(hasDefinitions(definitions) ? { definitions } : {}),
    }),
  );
}

function hasDefinitions(definitions: DefinitionParts): boolean {
  return Object.values(definitions).some((list: readonly unknown[]) => list.length > 0);
}

function encodeProperty(property: PropertyDefinition) {
  const { declaredBy: _, name: __, ...rest } = property;
  return {
    ...rest,
    min: encodeValue(property.min),
    max: encodeValue(property.max),
    custom: encodePairs(property.custom),
  };
}

interface SchemaDocument extends Omit<CatalogParts, 'types' | 'indexes' | 'definitions'> {
  readonly format: number;
  /** Of format 2. */
  readonly features?: readonly string[];
  /** Absent in documents from before there were any. */
  readonly definitions?: Partial<DefinitionParts>;
  readonly types: readonly (Omit<TypeDefinition, 'custom' | 'properties'> & {
    readonly custom: readonly ValueDocument[];
    readonly properties: readonly PropertyDocument[];
  })[];
  readonly indexes: readonly (Omit<IndexDefinition, 'metadata'> & {
    readonly metadata: readonly ValueDocument[];
  })[];
}

type PropertyDocument = Omit<PropertyDefinition, 'min' | 'max' | 'custom'> & {
  readonly min: ValueDocument;
  readonly max: ValueDocument;
  readonly custom: readonly ValueDocument[];
};

/**
 * Reads what `encodeCatalog` wrote.
 * @throws DatabaseError `CorruptedRecord` for bytes that are no schema document, or one of a newer format
 */
export function decodeCatalog(document: Uint8Array): CatalogValue {
  const parsed = parseDocument(document);
  requireKnownFormat(parsed);
  const { propertyNames } = parsed;
  return new CatalogValue({
    version: parsed.version,
    nextTypeId: parsed.nextTypeId,
    nextBucketId: parsed.nextBucketId,
    nextIndexId: parsed.nextIndexId,
    propertyNames,
    types: parsed.types.map((type) => ({
      ...type,
      // Documents written before there were such types do not have it.
      lightweight: type.lightweight ?? false,
      custom: decodePairs(type.custom),
      properties: new Map(
        type.properties.map((property) => {
          const decoded = decodeProperty(property, type.id, propertyNames);
          return [decoded.name, decoded];
        }),
      ),
    })),
    buckets: parsed.buckets.map(
      ({ id, name, type, windowOn }): BucketDefinition => ({
        id,
        name,
        type: type ?? undefined,
        ...(windowOn !== undefined && { windowOn }),
      }),
    ),
    indexes: parsed.indexes.map((index) => ({ ...index, metadata: decodePairs(index.metadata) })),
    definitions: { ...noDefinitions, ...parsed.definitions },
  });
}

/**
 * What a schema document has that only newer builds know: a format, a feature, a kind of index. Undefined: nothing.
 * @throws DatabaseError `CorruptedRecord` for bytes that are no schema document
 */
export function unknownInSchema(document: Uint8Array): string | undefined {
  return unknownIn(parseDocument(document));
}

function unknownIn({ format, features = [], indexes }: SchemaDocument): string | undefined {
  if (format !== schemaDocumentFormat && format !== featuredFormat)
    return `format ${format}; this version reads ${schemaDocumentFormat}`;
  const feature = features.find((name) => !knownFeatures.includes(name));
  if (feature !== undefined) return `the feature '${feature}', which this version does not know`;
  const index = indexes.find(({ kind }) => !Object.hasOwn(knownKinds, kind));
  if (index === undefined) return undefined;
  return `the index '${index.name}' of kind '${index.kind}', which this version does not know`;
}

function requireKnownFormat(document: SchemaDocument): void {
  const unknown = unknownIn(document);
  if (unknown === undefined) return;
  throw new DatabaseError('CorruptedRecord', `schema document has ${unknown}`);
}

function parseDocument(document: Uint8Array): SchemaDocument {
  try {
    const parsed: unknown = JSON.parse(utf8.decode(document));
    if (typeof parsed === 'object' && parsed !== null && 'types' in parsed) {
      return parsed as SchemaDocument;
    }
  } catch (cause) {
    throw new DatabaseError('CorruptedRecord', 'schema document cannot be read', { cause });
  }
  throw new DatabaseError('CorruptedRecord', 'schema document cannot be read');
}

function decodeProperty(
  property: PropertyDocument,
  declaredBy: TypeId,
  names: readonly string[],
): PropertyDefinition {
  return {
    ...property,
    name: names[property.id as PropertyId] ?? '',
    declaredBy,
    ofType: property.ofType ?? undefined,
    compression: property.compression ?? undefined,
    regexp: property.regexp ?? undefined,
    default: property.default ?? undefined,
    min: decodeValue(property.min),
    max: decodeValue(property.max),
    custom: decodePairs(property.custom),
  };
}
