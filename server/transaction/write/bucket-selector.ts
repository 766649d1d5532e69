import { parseBucketStrategy } from '#catalog/bucket-strategy.ts';
import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { valueKey } from '#core/value/equality.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';

/** Chooses the bucket of new records by the strategy of their type (sql.md 1.3). */
export class BucketSelector {
  readonly #turns = new Map<TypeId, number>();

  /** @throws DatabaseError `Schema` for a type without buckets */
  select(type: TypeDefinition, properties: ValueMap): BucketId {
    const { buckets } = type;
    const first = buckets[0];
    if (first === undefined) {
      throw new DatabaseError('Schema', `Type '${type.name}' has no bucket`);
    }
    if (buckets.length === 1) return first;
    if (type.bucketStrategy === 'round-robin') return this.#nextInTurn(type) ?? first;
    // One thread executes all statements, so the bucket of the thread is always the same.
    if (type.bucketStrategy === 'thread') return first;
    return partitionOf(type, properties) ?? first;
  }

  #nextInTurn(type: TypeDefinition): BucketId | undefined {
    const turn = this.#turns.get(type.id) ?? 0;
    this.#turns.set(type.id, turn + 1);
    return type.buckets[turn % type.buckets.length];
  }
}

/** The bucket that the values of a record ask for; undefined when the strategy does not look at values. */
export function partitionOf(
  type: TypeDefinition,
  properties: { get(name: string): Value | undefined },
): BucketId | undefined {
  const strategy = parseBucketStrategy(type.bucketStrategy);
  if (strategy.kind !== 'partitioned') return undefined;
  let hash = 0x811c9dc5;
  for (const name of strategy.properties) {
    const value = properties.get(name) ?? null;
    hash = hashText(String(valueKey(value)), hash);
  }
  return type.buckets[hash % type.buckets.length];
}

/** FNV-1a over UTF-16 units; must stay the same, since records were placed by it. */
function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}
