import type { IndexDefinition } from '#catalog/catalog.ts';
import { formatRid } from '#core/value/rid.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import type { CheckedView } from './checked-view.ts';
import type { SliceTimer } from '#transaction/write/slice-timer.ts';
import { isDamage } from './buckets.ts';
import type { CheckReport } from './report.ts';

/** Below and above every key: tags of components lie in between. */
const lowest = Uint8Array.of(0);
const highest = Uint8Array.of(0xff);

/**
 * Compares the entries of an ordered index with its records: each entry must be a key of its record, and there must be as
 * many entries as the records have keys, so none is missing.
 * @returns false when they differ, which is reported
 */
export async function checkIndex(
  definition: IndexDefinition,
  around: { readonly view: CheckedView; readonly report: CheckReport; readonly timer: SliceTimer },
): Promise<boolean> {
  const { view, report, timer } = around;
  const keys = new IndexKeys(definition);
  const found = { right: 0, wrong: 0 };
  const cursor = view.snapshot.entries(definition.id, lowest, highest, 'ascending');
  try {
    for (let count = 0; cursor.next(); count += 1) {
      if (isEntryRight(keys, cursor, view)) found.right += 1;
      else {
        found.wrong += 1;
        report.error(
          `index '${definition.name}' has an entry that record ${formatRid(cursor.rid)} does not have`,
        );
      }
      if ((count & 63) === 0 && timer.isSpent) await timer.pause();
    }
  } finally {
    cursor.close();
  }
  const wanted = await countKeys(keys, around);
  if (wanted === undefined) {
    report.error(`index '${definition.name}' cannot be compared: not all records can be read`);
    return false;
  }
  const counted = view.snapshot.entryCount(definition.id);
  if (wanted > found.right) {
    report.error(`index '${definition.name}' misses ${wanted - found.right} entries`);
  }
  if (counted !== found.right + found.wrong) {
    report.error(
      `index '${definition.name}' counts ${counted} entries, but has ${found.right + found.wrong}`,
    );
  }
  return found.wrong === 0 && wanted === found.right && counted === found.right;
}

function isEntryRight(
  keys: IndexKeys,
  entry: { readonly key: Uint8Array; readonly rid: number },
  view: CheckedView,
): boolean {
  const record = view.record(entry.rid as Parameters<CheckedView['record']>[0]);
  if (record === undefined) return false;
  if (!view.catalog.isSubtype(record.type, keys.definition.type)) return false;
  return keys.keysOf(record).some((key) => Buffer.compare(key, entry.key) === 0);
}

/** How many entries the records ask for; undefined when some cannot be read. */
async function countKeys(
  keys: IndexKeys,
  around: { readonly view: CheckedView; readonly timer: SliceTimer },
): Promise<number | undefined> {
  try {
    return await countAllKeys(keys, around);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

async function countAllKeys(
  keys: IndexKeys,
  { view, timer }: { readonly view: CheckedView; readonly timer: SliceTimer },
): Promise<number> {
  const { catalog } = view;
  let wanted = 0;
  for (const type of catalog.withSubtypes(keys.definition.type)) {
    for (const bucket of catalog.typeWithId(type).buckets) {
      const scan = view.scan(bucket, 'ascending');
      let seen = 0;
      for (let record = scan.next(); record !== undefined; record = scan.next()) {
        wanted += keys.keysOf(record).length;
        seen += 1;
        if ((seen & 63) === 0 && timer.isSpent) await timer.pause();
      }
    }
  }
  return wanted;
}
