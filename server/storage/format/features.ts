import { DatabaseError } from '#core/errors.ts';

/**
 * What a database may hold, told in its meta entry `format`: a version, for builds that know nothing of features (they refuse any but
 * 1), and the names of the features in use. A build opens what has no feature that it does not know, and adds its own.
 */
export interface StorageFormat {
  readonly storage: number;
  readonly features?: readonly string[];
}

/** Adding one: name it here, with what it changes. Names stay for ever. */
export const formatFeatures = [
  /** Tags 22 to 28 of stored values and 80 to 86 of index keys: times, moments, durations, points and paths of Cypher. */
  'extendedValues',
] as const;

const versionMax = 2;

export const currentFormat: StorageFormat = { storage: versionMax, features: formatFeatures };

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

export function isCurrentFormat({ storage, features = [] }: StorageFormat): boolean {
  return storage === versionMax && formatFeatures.every((name) => features.includes(name));
}
