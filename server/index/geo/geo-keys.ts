import { DatabaseError } from '#core/errors.ts';
import type { IndexDefinition } from '#catalog/catalog.ts';
import type { KeyedRecord, SearchKeys } from '../key-port.ts';
import { valueAt } from '../text/text-keys.ts';
import { numberIn } from '../vector/vector-settings.ts';
import { coveringCells } from './cells.ts';
import { type Envelope, envelopeOf, type Geometry } from './geometry.ts';
import { coordinateCountMax, geometryIn, isOverlong, piecesOf } from './wkt.ts';

// Entries of a geospatial index, for each geometry:
//   02 geohash 00        each cell that covers it; a point has one of full precision, an extended shape some larger ones
//   03 geohash 00        with FULL: these cells and all that hold them, so that a cell is looked up instead of walked through
//   04                   it has points, and so a distance
//   01                   a geometry without points, which equals others of its kind, or with some outside of the globe

export const cellTag = 0x02;
export const containingTag = 0x03;
export const placedTag = 0x04;
/** Candidates of every search. */
export const everywhereKey: Uint8Array = Uint8Array.of(0x01);

/** Cells that cover one piece of a shape. */
const cellsPerPiece = 16;
/** Shapes of more pieces are covered as a whole. */
const piecesMax = 16;

export interface GeoSettings {
  readonly property: string;
  /** Length of geohashes. */
  readonly precision: number;
  readonly isFull: boolean;
}

export function geoSettings({ components, metadata }: IndexDefinition): GeoSettings {
  return {
    property: components[0]?.property ?? '',
    precision: numberIn(metadata.get('precision')) ?? 11,
    isFull: String(metadata.get('tokenization') ?? '').toUpperCase() === 'FULL',
  };
}

export class GeoKeys implements SearchKeys {
  readonly #name: string;
  readonly #settings: GeoSettings;

  constructor(definition: IndexDefinition) {
    this.#name = definition.name;
    this.#settings = geoSettings(definition);
  }

  keysOf(record: KeyedRecord): readonly Uint8Array[] {
    const value = valueAt(record, this.#settings.property);
    const geometry = geometryIn(value ?? null);
    if (geometry === undefined) return [];
    const cells = cellsOf(geometry, this.#settings.precision);
    if (cells.size === 0) return [everywhereKey];
    const keys = Array.from(cells, (cell) => cellKey(cellTag, cell));
    keys.push(Uint8Array.of(placedTag));
    const whole = envelopeOf(geometry);
    if (whole !== undefined && !isOnGlobe(whole)) keys.push(everywhereKey);
    if (!this.#settings.isFull) return keys;
    const containing = new Set<string>();
    for (const cell of cells)
      for (let length = 0; length <= cell.length; length += 1)
        containing.add(cell.slice(0, length));
    for (const cell of containing) keys.push(cellKey(containingTag, cell));
    return keys;
  }

  /** Text that is no geometry is not found by predicates either. */
  requireValid(record: KeyedRecord): void {
    const { property } = this.#settings;
    if (!isOverlong(valueAt(record, property) ?? null)) return;
    throw new DatabaseError(
      'Validation',
      `the index '${this.#name}' refuses the geometry in '${property}': it has more than ${coordinateCountMax} coordinates`,
    );
  }
}

function cellsOf(geometry: Geometry, precision: number): ReadonlySet<string> {
  const cells = new Set<string>();
  const pieces = piecesOf(geometry);
  for (const piece of pieces.length > piecesMax ? [geometry] : pieces) {
    const envelope = envelopeOf(piece);
    if (envelope === undefined) continue;
    for (const cell of coveringCells(envelope, precision, cellsPerPiece)) cells.add(cell);
  }
  return cells;
}

function isOnGlobe({ minX, minY, maxX, maxY }: Envelope): boolean {
  return minX >= -180 && maxX <= 180 && minY >= -90 && maxY <= 90;
}

export function cellKey(tag: number, cell: string): Uint8Array {
  const key = Buffer.allocUnsafe(cell.length + 2);
  key[0] = tag;
  key.write(cell, 1, 'latin1');
  key[key.length - 1] = 0;
  return key;
}
