import { DatabaseError } from '#core/errors.ts';

/**
 * What a database may hold, told in its meta entry `format`: a version, for builds that know nothing of features (they refuse any but
 * 1), and the names of the features in use. A build opens what has no feature that it does not know. A name is written before the
 * first thing that needs it, so whoever uses no feature may go back to a build without it.
 */
export interface StorageFormat {
  readonly storage: number;
  readonly features?: readonly string[];
}

/** Adding one: name it here, with what it changes. Names stay for ever. */
export const formatFeatures = [
  /** Tags 22 to 28 of stored values and 80 to 86 of index keys: times, moments, durations, points and paths of Cypher. */
  'extendedValues',
  /** Entries of some indexes lie in chunks (`entry-chunk.ts`), with single ones in `ix` beside them. */
  'entryChunks',
  /** What commits change of them stands in segments beside them (`entry-segments.ts`), no more in single entries. */
  'entrySegments',
  /** Edges of loads wait in runs beside the lists of their vertices (`edge-page.ts`), which say which runs they hold. */
  'edgeRuns',
] as const;

export type FormatFeature = (typeof formatFeatures)[number];

const versionMax = 2;

export const formatEntryName = 'format';

/** Of a database that uses no feature. */
export const plainFormat: StorageFormat = { storage: 1 };

/** The bytes of the meta entry of a database that uses these features. */
export function encodeFormat(features: readonly FormatFeature[]): Uint8Array {
  const format = features.length === 0 ? plainFormat : { storage: versionMax, features };
  return Buffer.from(JSON.stringify(format));
}

/** @throws DatabaseError `CorruptedRecord` for a format that this build does not know, naming the feature where there is one */
export function decodeFormat(stored: Uint8Array, directory: string): StorageFormat {
  const format = JSON.parse(Buffer.from(stored).toString('latin1')) as StorageFormat;
  const { storage, features = [] } = format;
  if (!(storage >= 1 && storage <= versionMax))
    throw new DatabaseError(
      'CorruptedRecord',
      `the database in '${directory}' has storage format ${storage}; this version reads 1 to ${versionMax}`,
    );
  const unknown = features.filter((name) => !(formatFeatures as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new DatabaseError(
      'CorruptedRecord',
      `the database in '${directory}' uses '${unknown.join("', '")}', which this version does not know`,
    );
  return format;
}

/** The features that a database has announced. */
export class FormatInUse {
  readonly #features = new Set<FormatFeature>();

  includes(feature: FormatFeature): boolean {
    return this.#features.has(feature);
  }

  /** The meta entry is durable, or was read. */
  announced(format: StorageFormat): void {
    for (const feature of format.features ?? []) this.#features.add(feature as FormatFeature);
  }

  /** The meta entry with one more. */
  entryWith(features: Iterable<FormatFeature>): Uint8Array {
    return encodeFormat([...new Set([...this.#features, ...features])]);
  }
}
