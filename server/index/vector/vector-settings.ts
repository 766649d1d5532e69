import type { IndexDefinition } from '#catalog/catalog.ts';
import type { Value } from '#core/value/value.ts';

export type Similarity = 'COSINE' | 'DOT_PRODUCT' | 'EUCLIDEAN';
export type Quantization = 'NONE' | 'INT8' | 'BINARY' | 'PRODUCT';

/** What the METADATA of a dense vector index says, with defaults (sql.md 13.10). */
export interface VectorSettings {
  readonly property: string;
  readonly dimensions: number;
  readonly similarity: Similarity;
  readonly quantization: Quantization;
  readonly maxConnections: number;
  readonly beamWidth: number;
  readonly efSearch: number;
  readonly neighborOverflowFactor: number;
  readonly alphaDiversityRelaxation: number;
  readonly idPropertyName: string;
  readonly addHierarchy: boolean;
  readonly mutationsBeforeRebuild: number | undefined;
  readonly pqSubspaces: number | undefined;
  readonly pqClusters: number;
  readonly pqCenterGlobally: boolean;
  readonly pqTrainingLimit: number;
}

/** Of the 32 links that a vector may have by default codes take so many, and no more for a while: they would take more memory than codes. */
const linksOfCodes = 16;

export function vectorSettings({ components, metadata }: IndexDefinition): VectorSettings {
  const number = (key: string) => numberIn(metadata.get(key));
  const word = (key: string) => {
    const value = metadata.get(key);
    return typeof value === 'string' ? value : undefined;
  };
  // Kept as bytes means searched as bytes; the full vectors are in the records.
  const quantization = (word('quantization')?.toUpperCase() ??
    (word('encoding')?.toUpperCase() === 'INT8' ? 'INT8' : 'NONE')) as Quantization;
  return {
    property: components[0]?.property ?? '',
    dimensions: number('dimensions') ?? 0,
    similarity: (word('similarity')?.toUpperCase() ?? 'COSINE') as Similarity,
    quantization,
    maxConnections: number('maxConnections') ?? (quantization === 'NONE' ? 32 : linksOfCodes),
    beamWidth: number('beamWidth') ?? 100,
    efSearch: number('efSearch') ?? 100,
    neighborOverflowFactor: number('neighborOverflowFactor') ?? (quantization === 'NONE' ? 1.2 : 1),
    alphaDiversityRelaxation: number('alphaDiversityRelaxation') ?? 1.2,
    idPropertyName: word('idPropertyName') ?? 'id',
    addHierarchy: metadata.get('addHierarchy') === true,
    mutationsBeforeRebuild: number('mutationsBeforeRebuild'),
    pqSubspaces: number('pqSubspaces'),
    pqClusters: number('pqClusters') ?? 256,
    pqCenterGlobally: metadata.get('pqCenterGlobally') !== false,
    pqTrainingLimit: number('pqTrainingLimit') ?? 128_000,
  };
}

export function numberIn(value: Value | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return value instanceof Object && 'valueKind' in value && value.valueKind === 'float'
    ? value.number
    : undefined;
}
