import { createHash } from 'node:crypto';
import type { AppliedPosition } from '#storage/format/counters.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

/** What a server says of a database that it has before the cluster is there. */
export interface LocalDatabaseState {
  readonly name: string;
  /** Equal for copies that hold the same. */
  readonly fingerprint: string;
  readonly lastTxId: number;
  /** Newest position in its files. */
  readonly position: number;
}

/**
 * Tells equal copies of a database by what is kept with every commit: position, content hash and count of each bucket, schema and
 * settings. Cost: O(buckets), whatever the size.
 */
export function localState(
  name: string,
  { snapshot, catalog }: Pick<ReadView, 'snapshot' | 'catalog'>,
  { index, txId }: AppliedPosition,
): LocalDatabaseState {
  const hash = createHash('sha256').update(`${index} ${txId}\n`);
  for (const { id, name: bucket } of catalog.buckets()) {
    const content = JSON.stringify({ ...snapshot.contentHash(id) });
    const [count, next] = [snapshot.recordCount(id), snapshot.nextPosition(id)];
    hash.update(`${id} ${bucket} ${count} ${next} ${content}\n`);
  }
  for (const meta of ['schema', 'settings']) {
    const value = snapshot.meta(meta) ?? new Uint8Array(0);
    hash.update(`${meta} ${value.length}\n`).update(value);
  }
  return { name, fingerprint: hash.digest('hex'), lastTxId: txId, position: index };
}
