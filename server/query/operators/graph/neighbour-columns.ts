import { DatabaseError } from '#core/errors.ts';
import { type BucketId, bucketOf, positionMax, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { isShared } from '#transaction/read/holding-bucket.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { propertyOfRecord } from '../../evaluate/navigation.ts';
import { spareMemory, takeNumbers } from '../hold/spare-memory.ts';

/** Looks at a column before its numbers are remembered; after twice as many it is asked again whether they may. */
const looksMin = 4096;
/** Positions for each look that was made by then. */
const positionsPerLook = 32;
/** Of 8 bytes each; to clear more takes a turn. */
const positionsMax = 1024 * 1024;
/** For each byte taken as many are left to others. */
const sharesLeft = 3;

/**
 * Properties of neighbours, of which steps leave the bare record ids: read from the cells of their blocks, without an object for each
 * record. A number that was read is remembered by its place once there were many looks, since vertices are met again and again, all
 * over memory: a look is one read then, where the way through the block takes five.
 */
export class NeighbourColumns {
  /** By regex budget, which is new for each execution; contexts are used again. */
  readonly #executions = new WeakMap<EvaluationContext['regexBudget'], NeighbourColumn[]>();

  /** There is an evaluator. */
  areRead = false;

  /** The property of the element whose bare id stands in the slot; null of null. */
  evaluator(slot: Slot, property: string): Evaluator {
    this.areRead = true;
    let execution: EvaluationContext['regexBudget'] | undefined;
    let column: NeighbourColumn | undefined;
    return (context) => {
      const id = context.frame[slot] as Rid | null | undefined;
      if (id === null || id === undefined) return null;
      if (column === undefined || context.regexBudget !== execution) {
        execution = context.regexBudget;
        column = new NeighbourColumn(property);
        const columns = this.#executions.get(execution);
        if (columns === undefined) this.#executions.set(execution, [column]);
        else columns.push(column);
      }
      return column.valueOf(id, context);
    };
  }

  /** The execution is over: nobody looks at its columns any more. */
  release(context: EvaluationContext): void {
    const columns = this.#executions.get(context.regexBudget);
    if (columns === undefined) return;
    this.#executions.delete(context.regexBudget);
    for (const column of columns) column.release(context);
  }
}

/** Of one bucket. */
interface Place {
  readonly bucket: BucketId;
  /** The blocks tell what the statement sees. */
  readonly isStored: boolean;
  looks: number;
  looksToRemember: number;
  /** By position, where it is not 0; undefined: nothing is remembered. */
  numbers: Float64Array<ArrayBuffer> | undefined;
}

const noPlace: Place = {
  bucket: -1 as BucketId,
  isStored: false,
  looks: 0,
  looksToRemember: 0,
  numbers: undefined,
};

class NeighbourColumn {
  readonly #property: string;
  readonly #places: Place[] = [];
  #place = noPlace;
  #bytes = 0;

  constructor(property: string) {
    this.#property = property;
  }

  valueOf(rid: Rid, context: EvaluationContext): Value {
    const bucket = Math.floor(rid / positionMax);
    let place = this.#place;
    if (place.bucket !== bucket) {
      place = this.#placeOf(rid, context);
      this.#place = place;
    }
    const { numbers } = place;
    const position = rid - bucket * positionMax;
    if (numbers === undefined) {
      place.looks += 1;
      if (place.looks === place.looksToRemember) this.#remember(place, context);
    } else {
      // Neither 0 nor what lies behind the end is remembered.
      const known = numbers[position];
      if (known !== undefined && known !== 0) return known;
    }
    if (!place.isStored) {
      const record = context.view.record(rid);
      return record === undefined ? null : propertyOfRecord(record, this.#property, context, this);
    }
    const value = context.view.snapshot.cell(rid, this.#property) ?? null;
    if (numbers !== undefined && typeof value === 'number' && position < numbers.length)
      numbers[position] = value;
    return value;
  }

  #placeOf(rid: Rid, { view }: EvaluationContext): Place {
    const bucket = bucketOf(rid);
    const known = this.#places.find((place) => place.bucket === bucket);
    if (known !== undefined) return known;
    const isStored = rid >= 0 && !isShared(view.catalog, bucket) && !view.isChanged(bucket);
    const place = { ...noPlace, bucket, isStored, looksToRemember: looksMin };
    this.#places.push(place);
    return place;
  }

  #remember(place: Place, { view, memory }: EvaluationContext): void {
    place.looksToRemember *= 2;
    const count = view.snapshot.nextPosition(place.bucket);
    if (!place.isStored || count > Math.min(positionsMax, place.looks * positionsPerLook)) return;
    const bytes = count * 8;
    try {
      memory.reserve(bytes * sharesLeft);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (error.code !== 'TooLarge' && error.code !== 'Busy') throw error;
      return;
    }
    memory.release(bytes * (sharesLeft - 1));
    this.#bytes += bytes;
    place.numbers = takeNumbers(count).fill(0);
  }

  release({ memory }: EvaluationContext): void {
    for (const { numbers } of this.#places)
      if (numbers !== undefined) spareMemory.giveBack(numbers.buffer);
    this.#places.length = 0;
    this.#place = noPlace;
    memory.release(this.#bytes);
    this.#bytes = 0;
  }
}
