import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { EntryReader } from '../entry-reader.ts';
import type { ChangeListener } from '../search-memory.ts';
import { CellFilter, coveringCells } from './cells.ts';
import {
  cellKey,
  cellTag,
  containingTag,
  everywhereKey,
  geoSettings,
  placedTag,
} from './geo-keys.ts';
import type { Envelope } from './geometry.ts';

/** Cells by which an area is searched: more of them follow it closer, each costs a search. */
const cellsPerArea = 32;
const entriesPerLook = 256;
const unitsPerLook = 64;

/**
 * Records whose geometry may share a point with the area, and perhaps some others: cells are coarser than shapes.
 * @param area undefined: of a geometry without points
 */
export function* recordsNear(
  reader: EntryReader,
  area: Envelope | undefined,
  meter: WorkMeter,
): PausingWork<ReadonlySet<Rid>> {
  const found = new Set<Rid>();
  // Geometries without points equal one another; those outside of the globe stand nowhere else.
  yield* collect(reader, everywhereKey, Uint8Array.of(cellTag), found, meter);
  if (area === undefined) return found;
  const { precision, isFull } = geoSettings(reader.definition);
  const cells = coveringCells(area, precision, cellsPerArea);
  const larger = new Set<string>();
  const filter = new CellFilter(area);
  for (const cell of cells) {
    for (let length = 0; length < cell.length; length += 1) larger.add(cell.slice(0, length));
    const low = cellKey(isFull ? containingTag : cellTag, cell);
    if (isFull) yield* collect(reader, low, keyAfter(low), found, meter);
    else yield* collect(reader, low.subarray(0, -1), cellsAfter(cell), found, meter, filter);
  }
  for (const cell of larger) {
    const key = cellKey(cellTag, cell);
    yield* collect(reader, key, keyAfter(key), found, meter);
  }
  return found;
}

function* collect(
  reader: EntryReader,
  low: Uint8Array,
  high: Uint8Array,
  found: Set<Rid>,
  meter: WorkMeter,
  filter?: CellFilter,
): PausingWork<void> {
  const cursor = reader.stored(low, high);
  try {
    for (let seen = 1; cursor.next(); seen += 1) {
      const isNear = filter === undefined || isIn(filter, cursor.key);
      if (isNear && !reader.isHidden(cursor.rid)) found.add(cursor.rid);
      if (seen % entriesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
    }
  } finally {
    cursor.close();
  }
  for (const { rid } of reader.own(low, high)) found.add(rid);
}

/** Whether the cell of an entry, which stands between a tag and a zero byte, may reach the area. */
function isIn(filter: CellFilter, key: Uint8Array): boolean {
  return filter.accepts(key, 1, key.length - 1);
}

/** Stored records whose geometry has points, as far as one snapshot goes. */
class PlacedCount implements ChangeListener {
  #lsn: LogIndex = -1 as LogIndex;
  #count = 0;
  #changedAt: LogIndex;

  constructor(changedAt: LogIndex) {
    this.#changedAt = changedAt;
  }

  changed(version: LogIndex): void {
    this.#changedAt = version;
  }

  entry(): void {
    // A change of a record is told.
  }

  at(lsn: LogIndex): number | undefined {
    return this.#lsn >= 0 && this.#changedAt <= Math.min(lsn, this.#lsn) ? this.#count : undefined;
  }

  keep(lsn: LogIndex, count: number): void {
    this.#lsn = lsn;
    this.#count = count;
  }
}

/** Stored records that have a distance from a place. Cost: one entry for each, once after each change. */
export function* placedCount(reader: EntryReader, meter: WorkMeter): PausingWork<number> {
  const { memory } = reader;
  const kept = memory.isTold ? memory.state(() => new PlacedCount(memory.newest)) : undefined;
  const known = kept?.at(reader.lsn);
  if (known !== undefined) return known;
  let count = 0;
  const cursor = reader.stored(Uint8Array.of(placedTag), Uint8Array.of(placedTag + 1));
  try {
    while (cursor.next()) {
      count += 1;
      if (count % entriesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
    }
  } finally {
    cursor.close();
  }
  kept?.keep(reader.lsn, count);
  return count;
}

/** Behind the key, which ends with 00. */
function keyAfter(key: Uint8Array): Uint8Array {
  const after = Uint8Array.from(key);
  after[after.length - 1] = 1;
  return after;
}

/** Behind all cells inside of the cell. */
function cellsAfter(cell: string): Uint8Array {
  if (cell === '') return Uint8Array.of(cellTag + 1);
  const after = Uint8Array.from(cellKey(cellTag, cell).subarray(0, -1));
  after[after.length - 1] = (after[after.length - 1] as number) + 1;
  return after;
}
