import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import { viewOf } from '../format/bytes.ts';

// What must be known about the file before LMDB may see it: the binding does not report a file that LMDB refuses and
// crashes instead, and a mapped file that is shorter than its pages stops the process at the first access beyond its end.
// Offsets are those of LMDB's data format 2 with a page header of 24 bytes.

const metaOffset = 24;
const magic = 0xbeefc0de;
const dataFormat = 2;
const pageSize = 4096;
const noPage = 0xffff_ffff_ffff_ffffn;

export const environmentFileName = 'data.mdb';

/**
 * Checks the file of an environment, when there is one, and makes it as long as its pages say.
 * @throws DatabaseError `CorruptedRecord`
 */
export function requireEnvironmentFile(directory: string): void {
  const path = join(directory, environmentFileName);
  if (!existsSync(path)) return;
  const file = openSync(path, 'r+');
  try {
    const { size } = fstatSync(file);
    if (size === 0) return;
    const head = new Uint8Array(2 * pageSize);
    const isWhole = size >= head.length && readSync(file, head, 0, head.length, 0) === head.length;
    if (!isWhole || !isMetaPage(head, 0) || !isMetaPage(head, pageSize)) {
      throw new DatabaseError(
        'CorruptedRecord',
        `the database in '${directory}' cannot be opened: '${environmentFileName}' is damaged or no database`,
      );
    }
    const needed = (lastPage(head) + 1) * pageSize;
    // Pages that are missing read as zeros then, which every check refuses; unused ones at the end may be missing.
    if (size < needed) ftruncateSync(file, needed);
  } finally {
    closeSync(file);
  }
}

/**
 * Whether the environment lists no free pages at all, which is so in a copy that LMDB made, until something is written to it.
 *
 * The first transaction there must be a small one: with a list that does not fit into a page, LMDB looks for the room of that
 * list in the tree of lists, which has an empty root by then, and ends the process (`mdb_page_alloc`, `key.mv_size > 0`).
 */
export function isUntouchedCopy(directory: string): boolean {
  const path = join(directory, environmentFileName);
  if (!existsSync(path)) return false;
  const head = new Uint8Array(2 * pageSize);
  const file = openSync(path, 'r');
  try {
    if (readSync(file, head, 0, head.length, 0) !== head.length) return false;
  } finally {
    closeSync(file);
  }
  const view = viewOf(head);
  const meta = newerMeta(head);
  const [freeRoot, mainRoot] = [meta + 64, meta + 112].map((at) => view.getBigUint64(at, true));
  return freeRoot === noPage && mainRoot !== noPage;
}

/** What LMDB makes of its table of readers: a header and one entry each. */
const lockHeaderBytes = 272;
const lockReaderBytes = 64;

/**
 * Gives the lock file its blocks before LMDB maps it: a page that the disk has no room for would end the process (SIGBUS),
 * since LMDB makes the file as long as it needs without writing it. Only while nobody has the environment open.
 * @throws DatabaseError `Internal` when it cannot be written
 */
export function reserveLockFile(directory: string, readersMax: number): void {
  const path = join(directory, 'lock.mdb');
  const length = (readersMax - 1) * lockReaderBytes + lockHeaderBytes;
  const known = statSync(path, { throwIfNoEntry: false });
  if (known !== undefined && known.size >= length && known.blocks * 512 >= known.size) return;
  try {
    mkdirSync(directory, { recursive: true });
    writeFileSync(path, new Uint8Array(length), { flag: known === undefined ? 'w' : 'r+' });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DatabaseError(
      'Internal',
      `the database in '${directory}' cannot be opened: '${path}' cannot be written: ${reason}`,
      { cause },
    );
  }
}

function isMetaPage(head: Uint8Array, page: number): boolean {
  const view = viewOf(head);
  const at = page + metaOffset;
  return (
    view.getUint32(at, true) === magic &&
    view.getUint32(at + 4, true) === dataFormat &&
    view.getUint32(at + 24, true) === pageSize
  );
}

/** Of the newer of the two meta pages. */
function lastPage(head: Uint8Array): number {
  return Number(viewOf(head).getBigUint64(newerMeta(head) + 120, true));
}

/** Where what the newer of the two meta pages says starts. */
function newerMeta(head: Uint8Array): number {
  const view = viewOf(head);
  const [first, second] = [0, pageSize].map((page) =>
    view.getBigUint64(page + metaOffset + 128, true),
  ) as [bigint, bigint];
  return metaOffset + (first >= second ? 0 : pageSize);
}
