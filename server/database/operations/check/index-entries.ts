import type { IndexDefinition } from '#catalog/catalog.ts';
import { formatRid } from '#core/value/rid.ts';
import { areAllMade } from '#index/ordered/derived-pieces.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import type { CheckedView } from './checked-view.ts';
import type { SliceTimer } from '#transaction/write/slice-timer.ts';
import { isDamage } from './buckets.ts';
import { EntrySum } from './entry-sum.ts';
import type { CheckReport } from './report.ts';

/** Below and above every key: tags of components lie in between. */
const lowest = Uint8Array.of(0);
const highest = Uint8Array.of(0xff);

interface Around {
  readonly view: CheckedView;
  readonly report: CheckReport;
  readonly timer: SliceTimer;
}

/**
 * Compares the entries of an index with its records: each entry must be a key of its record, and there must be as many entries as
 * the records have keys, so none is missing. Sums tell that in one pass over each; which entry is wrong is looked for only when
 * they differ, since a text has an entry for each of its words.
 * @returns false when they differ, which is reported
 */
export async function checkIndex(definition: IndexDefinition, around: Around): Promise<boolean> {
  const { view, report } = around;
  const keys = new IndexKeys(definition);
  const wanted = await sumOfRecords(keys, around);
  if (wanted === undefined) {
    report.error(`index '${definition.name}' cannot be compared: not all records can be read`);
    return false;
  }
  const stored = await sumOfEntries(definition, around).catch((error: unknown) => {
    if (!isDamage(error)) throw error;
    report.error(`index '${definition.name}': ${error.message}`);
    return undefined;
  });
  if (stored === undefined) return false;
  const counted = view.snapshot.entryCount(definition.id);
  const isRight = stored.equals(wanted);
  if (!isRight) {
    const wrong = await reportWrong(keys, around);
    const missing = wanted.count - (stored.count - wrong);
    if (missing > 0) report.error(`index '${definition.name}' misses ${missing} entries`);
  }
  if (counted !== stored.count)
    report.error(`index '${definition.name}' counts ${counted} entries, but has ${stored.count}`);
  return isRight && counted === stored.count;
}

async function sumOfEntries({ id }: IndexDefinition, { view, timer }: Around): Promise<EntrySum> {
  const sum = new EntrySum();
  const cursor = view.snapshot.entries(id, lowest, highest, 'ascending');
  try {
    while (cursor.next()) {
      sum.add(cursor.key, cursor.rid);
      if ((sum.count & 255) === 0 && timer.isSpent) await timer.pause();
    }
  } finally {
    cursor.close();
  }
  return sum;
}

/** Names each entry that its record does not have. @returns how many there are */
async function reportWrong(keys: IndexKeys, { view, report, timer }: Around): Promise<number> {
  const { id, name } = keys.definition;
  const cursor = view.snapshot.entries(id, lowest, highest, 'ascending');
  let wrong = 0;
  try {
    for (let count = 0; cursor.next(); count += 1) {
      if (!isEntryRight(keys, cursor, view)) {
        wrong += 1;
        report.error(
          `index '${name}' has an entry that record ${formatRid(cursor.rid)} does not have`,
        );
      }
      if ((count & 63) === 0 && timer.isSpent) await timer.pause();
    }
  } finally {
    cursor.close();
  }
  return wrong;
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

/** Of the entries that the records ask for; undefined when some cannot be read. */
async function sumOfRecords(keys: IndexKeys, around: Around): Promise<EntrySum | undefined> {
  try {
    return await sumOfAllRecords(keys, around);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

async function sumOfAllRecords(keys: IndexKeys, { view, timer }: Around): Promise<EntrySum> {
  const { catalog } = view;
  const sum = new EntrySum();
  for (const type of catalog.withSubtypes(keys.definition.type)) {
    for (const bucket of catalog.typeWithId(type).buckets) {
      const scan = view.scan(bucket, 'ascending');
      let seen = 0;
      for (let record = scan.next(); record !== undefined; record = scan.next()) {
        const own = keys.keysOrPieces(record);
        if (areAllMade(own)) for (const key of own) sum.add(key, record.rid);
        else
          for (const piece of own) {
            for (const key of piece) sum.add(key, record.rid);
            if (timer.isSpent) await timer.pause();
          }
        seen += 1;
        if ((seen & 63) === 0 && timer.isSpent) await timer.pause();
      }
    }
  }
  return sum;
}
