import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import { Path } from '#core/value/path.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { noRid } from '#core/value/rid.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { doneWork } from '../../evaluate/turns/done-work.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import { canPause, pausingValue } from '../../evaluate/turns/long-calls.ts';
import { ANY_NUMBER, scalar } from '../define.ts';
import { cypherPrefix } from './arguments.ts';

/**
 * Paths put together of what a pattern has walked: nodes and relationships in turn, a list of relationships for a repetition. Each
 * relationship is read for the node it leads to, which is read, too.
 */

/** The path; null for a null among its parts. */
export const pathThrough = `${cypherPrefix}path`;
/** Its length, for which nothing is read. */
export const lengthOfPath = `${cypherPrefix}lengthOfPath`;

/** Relationships; what shorter paths take is next to nothing beside the steps that found them. */
const countedLength = 16;
/** As work done at once, of which there are 5,000 units to a millisecond. */
const unitsPerStep = 16;
/** From here on the relationships of a list are walked in turns. */
const longWalk = 256;
const stepsPerLook = 32;
/** As work of a call in turns. */
const unitsPerLook = 128;

class Walk {
  readonly #nodes: StoredRecord[] = [];
  readonly #relationships: StoredRecord[] = [];
  readonly #context: EvaluationContext;

  constructor(context: EvaluationContext) {
    this.#context = context;
  }

  /** @returns false when the path is null */
  add(part: Value): boolean {
    if (part === null || !isRecord(part)) return false;
    if (part.kind === 'edge') this.#relationships.push(part);
    else if (this.#last !== part.rid || this.#relationships.length === this.#nodes.length)
      this.#nodes.push(part);
    return true;
  }

  /** From the node before over relationships of a list. @returns false when the path is null */
  follow(list: readonly Value[], from: number, to: number): boolean {
    for (let at = from; at < to; at += 1) {
      const item = list[at] as Value;
      if (item === null || !isRecord(item)) return false;
      const end = item.out === this.#last ? item.in : item.out;
      this.#relationships.push(item);
      const node = this.#context.view.record(end);
      if (node === undefined) return false;
      this.#nodes.push(node);
    }
    return true;
  }

  get #last() {
    return this.#nodes.at(-1)?.rid ?? noRid;
  }

  /** Thousands of rows may each make a long one, so that they pause for what was made and read. */
  path(): Path {
    const made = new Path(this.#nodes, this.#relationships);
    if (made.length >= countedLength) {
      madeBytes.total += approximateBytes(made);
      doneWork.units += unitsPerStep * made.length;
    }
    return made;
  }
}

function path(parts: readonly Value[], context: EvaluationContext): Value {
  if (parts.some(isLong) && canPause(context))
    return pausingValue(context, path, (meter) => pathInTurns(parts, context, meter));
  const walk = new Walk(context);
  for (const part of parts)
    if (!(isWalked(part) ? walk.follow(part, 0, part.length) : walk.add(part))) return null;
  return walk.path();
}

function isWalked(part: Value): part is readonly Value[] {
  return part !== null && isList(part);
}

function isLong(part: Value): boolean {
  return Array.isArray(part) && part.length >= longWalk;
}

function* pathInTurns(
  parts: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  const walk = new Walk(context);
  for (const part of parts) {
    if (!isWalked(part)) {
      if (!walk.add(part)) return null;
      continue;
    }
    for (let at = 0; at < part.length; at += stepsPerLook) {
      if (!walk.follow(part, at, Math.min(part.length, at + stepsPerLook))) return null;
      if (meter.isSpent(unitsPerLook)) yield;
    }
  }
  return walk.path();
}

function lengthOf(parts: readonly Value[]): Value {
  let length = 0;
  for (const part of parts) {
    if (part === null) return null;
    if (isList(part)) length += part.length;
    else if (!isRecord(part)) return null;
    else if (part.kind === 'edge') length += 1;
  }
  return length;
}

/** Of a path of `moveCount` relationships a repetition: the relationships of one move, or the nodes behind it (0: before the first). */
function eachOfGroup(
  [from, edges, moveCount, move, kind]: readonly Value[],
  context: EvaluationContext,
): Value {
  if (
    from === null ||
    from === undefined ||
    edges === undefined ||
    !isList(edges) ||
    typeof moveCount !== 'number'
  )
    return null;
  const picked = (items: readonly Value[], first: number): readonly Value[] =>
    items.filter((_, at) => at % moveCount === first);
  const number = Number(move);
  if (kind === 'relationship') return picked(edges, number - 1);
  const whole = path([from, edges], context);
  if (!(whole instanceof Path)) return null;
  return number === 0
    ? picked(whole.nodes.slice(0, -1), 0)
    : picked(whole.nodes.slice(1), number - 1);
}

export const walkedPaths: readonly ScalarFunction[] = [
  { ...scalar(`${pathThrough}(x...)`, [1, ANY_NUMBER], path), worksInTurns: true },
  scalar(`${lengthOfPath}(x...)`, [1, ANY_NUMBER], lengthOf),
  {
    ...scalar('#cypher.eachOfGroup(from, edges, moveCount, move, kind)', [5, 5], eachOfGroup),
    worksInTurns: true,
  },
];
