import { type Database, open, type RangeOptions, type RootDatabase } from 'lmdb';
import type { LogIndex } from '#core/value/rid.ts';
import { checksumSize, isIntact } from '../format/checksum.ts';
import { decodeApplied } from '../format/counters.ts';
import type { AppliedPosition } from '../format/counters.ts';
import { requireEnvironmentFile } from './file.ts';

// Reads a copied environment from end to end. It runs in a process of its own (`environment-check-process.ts`): LMDB trusts
// the pages it maps, and a damaged or forged file may end the process that walks it.

/** What an intact environment says of itself. */
export interface EnvironmentFacts {
  readonly applied: AppliedPosition;
  /** Values that were read, all sub-databases together. */
  readonly valueCount: number;
}

/** An environment as keys and values of bytes. */
export function openRaw(
  directory: string,
  options: { readonly readOnly?: boolean; readonly noSync?: boolean; readonly mapSize?: number },
): RootDatabase<Buffer, Buffer> {
  return open({ path: directory, noSubdir: false, maxDbs: 32, pageSize: 4096, ...options });
}

export function rawStore(
  root: RootDatabase<Buffer, Buffer>,
  name: string,
): Database<Buffer, Buffer> {
  return root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
}

/** Those whose values end with a checksum; entries of `ix` have none. */
export const checkedStores = ['meta', 'blk', 'big', 'adj', 'ft', 'vec', 'job'] as const;
const appliedName = 'applied';
const formatName = 'format';
/** Of a database in which nothing was changed yet. */
const nothingApplied: AppliedPosition = { index: 0 as LogIndex, term: 0, txId: 0 };

/**
 * Reads every value of the environment and compares the checksums.
 * @throws Error naming what is damaged
 */
export function checkEnvironment(directory: string): EnvironmentFacts {
  requireEnvironmentFile(directory);
  const root = openRaw(directory, { readOnly: true });
  let valueCount = 0;
  let applied = nothingApplied;
  let hasFormat = false;
  try {
    for (const name of [...checkedStores, 'ix'] as const) {
      const store = rawStore(root, name);
      const isChecked = name !== 'ix';
      const range: RangeOptions = { snapshot: true };
      for (const { key, value } of store.getRange(range)) {
        valueCount += 1;
        if (!isChecked) continue;
        if (!isIntact(key, value, 0, value.length))
          throw new Error(`the checksum of a value in '${name}' does not match`);
        if (name !== 'meta') continue;
        const metaName = key.toString('latin1');
        if (metaName === formatName) hasFormat = true;
        if (metaName === appliedName)
          applied = decodeApplied(value.subarray(0, value.length - checksumSize));
      }
    }
  } finally {
    void root.close();
  }
  if (!hasFormat) throw new Error('it holds no database of this server');
  return { applied, valueCount };
}
