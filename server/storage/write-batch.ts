import type { Key, Store, SubDatabases } from './sub-databases.ts';

/** One put, or a removal when there is no value. The bytes stay as they are from now on: LMDB keeps a pointer to them. */
export interface Write {
  readonly store: Store;
  readonly key: Key;
  readonly value: Uint8Array | undefined;
}

/**
 * Carries the writes out in order as one LMDB transaction. Resolves when it is durable.
 * @throws what the binding reports; nothing was written then
 */
export async function writeBatch(subs: SubDatabases, writes: readonly Write[]): Promise<void> {
  await subs.root.batch(() => {
    for (let i = 0; i < writes.length; i++) {
      const { store, key, value } = writes[i] as Write;
      if (value === undefined) store.remove(key);
      else store.put(key, value);
    }
  });
}
