import { type Database, open, type RootDatabase } from 'lmdb';
import type { LogIndex } from '#core/value/rid.ts';
import { checksum, checksumSize, isIntact, isSealed } from '../format/checksum.ts';
import { decodeApplied } from '../format/counters.ts';
import type { AppliedPosition } from '../format/counters.ts';
import { requireEnvironmentFile } from './file.ts';

// Reads a copied environment from end to end. It runs in a process of its own (`check-process.ts`): LMDB trusts
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
    for (const { key, value } of rawStore(root, 'meta').getRange({ snapshot: true })) {
      valueCount += 1;
      if (!isIntact(key, value, 0, value.length)) throw damagedIn('meta');
      const name = key.toString('latin1');
      if (name === formatName) hasFormat = true;
      if (name === appliedName)
        applied = decodeApplied(value.subarray(0, value.length - checksumSize));
    }
    for (const name of [...checkedStores, 'ix'] as const)
      if (name !== 'meta') valueCount += checkStore(root, name);
  } finally {
    void root.close();
  }
  if (!hasFormat) throw new Error('it holds no database of this server');
  return { applied, valueCount };
}

/** Below all other keys. */
const firstKey = Buffer.of(0);

/**
 * Reads a sub-database where LMDB shows it: making a buffer of each key and each value took two thirds of the time.
 * @returns how many values it holds
 */
function checkStore(root: RootDatabase<Buffer, Buffer>, name: string): number {
  const isChecked = name !== 'ix';
  let keyChecksum = 0;
  const keyEncoder = {
    writeKey: (key: Uint8Array, target: Uint8Array, start: number): number => {
      target.set(key, start);
      return start + key.length;
    },
    readKey: (bytes: Uint8Array, start: number, end: number): number => {
      keyChecksum = checksum(bytes, start, end, 0);
      return keyChecksum;
    },
  };
  const encoder = {
    encode: (value: Uint8Array): Uint8Array => value,
    decode: (bytes: Uint8Array, length: number): boolean =>
      !isChecked || isSealed(keyChecksum, bytes, 0, length),
  };
  const options = { name, encoder, keyEncoder };
  const store = root.openDB<boolean, Buffer>(options);
  let count = 0;
  for (const { value: isIntactValue } of store.getRange({ start: firstKey, snapshot: true })) {
    count += 1;
    if (!isIntactValue) throw damagedIn(name);
  }
  return count;
}

function damagedIn(name: string): Error {
  return new Error(`the checksum of a value in '${name}' does not match`);
}
