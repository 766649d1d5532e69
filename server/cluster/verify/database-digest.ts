import { createHash } from 'node:crypto';
import type { Runtime } from '#core/runtime.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { VerifiedFile } from '../cluster-view.ts';

/**
 * Digests of what a database holds, by content and never by layout (ha.md 9.6): rows in the order of their record ids, index
 * entries in the order of their keys, the schema. Two servers that applied the same log have the same ones. Takes turns.
 */
export async function digestOf(
  { snapshot, catalog }: Pick<ReadView, 'snapshot' | 'catalog'>,
  runtime: Runtime,
): Promise<readonly VerifiedFile[]> {
  const timer = new SliceTimer(runtime);
  const files: VerifiedFile[] = [];
  for (const { id, name, windowOn } of catalog.buckets())
    if (windowOn === undefined) files.push(await bucketDigest(snapshot, { id, name }, timer));
  for (const { id, name, state, kind } of catalog.indexes())
    if (state === 'READY' && (kind === 'LSM_TREE' || kind === 'HASH'))
      files.push(await indexDigest(snapshot, { id, name }, timer));
  const schema = snapshot.meta('schema') ?? new Uint8Array(0);
  const checksum = createHash('sha256').update(schema).digest('hex');
  files.push({ name: 'schema.json', checksum, size: schema.length, type: 'schema' });
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

type Part<Id> = { readonly id: Id; readonly name: string };

async function bucketDigest(
  snapshot: StorageSnapshot,
  { id, name }: Part<Parameters<StorageSnapshot['block']>[0]>,
  timer: SliceTimer,
): Promise<VerifiedFile> {
  const hash = createHash('sha256');
  const position = Buffer.alloc(8);
  let size = 0;
  for (let number = 0; number < snapshot.blockCount(id); number += 1) {
    const block = snapshot.block(id, number);
    if (block !== undefined)
      for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
        const at = block.rowOffset(slot);
        const length = block.view.getUint32(at, true);
        position.writeDoubleLE(block.firstPosition + slot);
        hash.update(position).update(block.bytes.subarray(at, at + length));
        size += length;
      }
    if (timer.isSpent) await timer.pause();
  }
  return { name: `${name}.bucket`, checksum: hash.digest('hex'), size, type: 'bucket' };
}

const noKey = new Uint8Array(0);
const beyondKeys = new Uint8Array(64).fill(0xff);
const entriesPerLook = 256;

async function indexDigest(
  snapshot: StorageSnapshot,
  { id, name }: Part<Parameters<StorageSnapshot['entries']>[0]>,
  timer: SliceTimer,
): Promise<VerifiedFile> {
  const hash = createHash('sha256');
  const rid = Buffer.alloc(8);
  let size = 0;
  let count = 0;
  const cursor = snapshot.entries(id, noKey, beyondKeys, 'ascending');
  try {
    while (cursor.next()) {
      rid.writeDoubleLE(cursor.rid);
      hash.update(cursor.key).update(rid);
      size += cursor.key.length + rid.length;
      count += 1;
      if (count % entriesPerLook === 0 && timer.isSpent) await timer.pause();
    }
  } finally {
    cursor.close();
  }
  return { name: `${name}.idx`, checksum: hash.digest('hex'), size, type: 'index' };
}
