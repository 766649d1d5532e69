import { foldCase } from '#core/text/case-folding.ts';
import { compileLike } from '#core/text/like-pattern.ts';
import type { Value } from '#core/value/value.ts';
import { isList } from '#core/value/value.ts';
import type { KeyBounds } from '#transaction/read/read-view.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { type ComparisonRules, keyFor, type KeyComponent, type KeyOf } from './index-key.ts';
import type { ExecutionContext } from '../operator.ts';

/** Bounds of one search with their expressions compiled; components as in the index definition. */
export interface CompiledBounds {
  readonly components: readonly KeyComponent[];
  readonly isUnique: boolean;
  /** Records whose indexed values are null stand in the index too. */
  readonly holdsNulls: boolean;
  readonly equals: readonly {
    readonly value: Evaluator;
    readonly kind: 'equals' | 'in' | 'null';
    readonly isFlipped: boolean;
    readonly findsMore: boolean;
    readonly isOfCypher: boolean;
  }[];
  readonly low: CompiledBound | undefined;
  readonly high: CompiledBound | undefined;
  readonly prefix: Evaluator | undefined;
  readonly prefixIsPattern: 'like' | 'ilike' | undefined;
}

export interface CompiledBound {
  readonly value: Evaluator;
  readonly inclusive: boolean;
  readonly isFlipped: boolean;
  /** Never: what stands on which side of values of other kinds is a matter of the records. */
  readonly isOfCypher: false;
}

/** What a search comes to in one execution. */
export type BoundSearch =
  /** No record can satisfy the bounds. */
  | { readonly kind: 'nothing' }
  /** The values do not fit the index: the records must be scanned. */
  | { readonly kind: 'scan' }
  | {
      readonly kind: 'search';
      /** One per combination of IN values; their results do not overlap. */
      readonly ranges: readonly KeyBounds[];
      /** All components are given: at most one record per range when the index is unique. */
      readonly isFullKey: boolean;
      /** Every record found satisfies the bounds; else the predicate must be checked on it. */
      readonly exact: boolean;
    };

/** Most combinations of IN values that are looked up one by one; above this a scan is as good. */
const combinationCountMax = 100_000;

/** Evaluates the bounds against the frame and turns them into keys. */
export function bindBounds(bounds: CompiledBounds, context: ExecutionContext): BoundSearch {
  let prefixes: Value[][] = [[]];
  let exact = true;
  for (let at = 0; at < bounds.equals.length; at += 1) {
    const part = bounds.equals[at] as CompiledBounds['equals'][number];
    const value = part.value(context);
    const mustBeList = part.kind === 'in' && part.isOfCypher;
    if (mustBeList && value !== null && !isList(value)) return { kind: 'scan' };
    const component = bounds.components[at] as KeyComponent;
    const keys =
      part.kind === 'null'
        ? { values: [null], exact: true }
        : part.kind === 'in'
          ? keysOfList(value, component, context, part)
          : keysOf(keyFor(value, component, context.formats, part));
    if (keys === undefined) return { kind: 'scan' };
    if (!keys.exact || part.findsMore) exact = false;
    if (keys.values.length * prefixes.length > combinationCountMax) return { kind: 'scan' };
    prefixes = combine(prefixes, keys.values);
  }
  if (prefixes.length === 0) return { kind: 'nothing' };
  return withRange(bounds, prefixes, exact, context);
}

interface Keys {
  readonly values: readonly Value[];
  readonly exact: boolean;
}

function keysOf(key: KeyOf): Keys | undefined {
  if (key.kind === 'scan') return undefined;
  return key.kind === 'nothing'
    ? { values: [], exact: true }
    : { values: [key.value], exact: key.exact };
}

/** A null among the elements makes the rest unknown, which keeps no row either. What is no list equals more keys than it is in. */
function keysOfList(
  list: Value,
  component: KeyComponent,
  context: ExecutionContext,
  rules: ComparisonRules,
): Keys | undefined {
  if (list === null) return { values: [], exact: true };
  if (!isList(list)) {
    const only = keysOf(keyFor(list, component, context.formats, rules));
    return only && { ...only, exact: false };
  }
  const values: Value[] = [];
  let exact = true;
  for (let at = 0; at < list.length; at += 1) {
    const key = keyFor(list[at] as Value, component, context.formats, rules);
    if (key.kind === 'scan') return undefined;
    if (key.kind === 'nothing') continue;
    values.push(key.value);
    if (!key.exact) exact = false;
  }
  return { values, exact };
}

function combine(prefixes: readonly Value[][], values: readonly Value[]): Value[][] {
  if (values.length === 1) {
    for (const prefix of prefixes) prefix.push(values[0] as Value);
    return prefixes as Value[][];
  }
  return prefixes.flatMap((prefix) => values.map((value) => [...prefix, value]));
}

function withRange(
  bounds: CompiledBounds,
  prefixes: readonly Value[][],
  exactPrefix: boolean,
  context: ExecutionContext,
): BoundSearch {
  const component = bounds.components[bounds.equals.length];
  const isFullKey = component === undefined;
  if (component === undefined || !(bounds.low || bounds.high || bounds.prefix)) {
    const ranges = prefixes.map((prefix): KeyBounds => ({ prefix }));
    return { kind: 'search', ranges, isFullKey, exact: exactPrefix };
  }
  const low = bounds.low && boundKey(bounds.low, component, context);
  const high = bounds.high && boundKey(bounds.high, component, context);
  if (low?.kind === 'scan' || high?.kind === 'scan') return { kind: 'scan' };
  if (low?.kind === 'nothing' || high?.kind === 'nothing') return { kind: 'nothing' };
  const textPrefix = prefixOf(bounds, context);
  if (textPrefix === null) return { kind: 'nothing' };
  // A pattern that begins with a wildcard says nothing.
  if (textPrefix === '' && bounds.prefixIsPattern) return { kind: 'scan' };
  if (textPrefix !== undefined && (typeof textPrefix !== 'string' || component.type !== 'STRING'))
    return { kind: 'scan' };
  const text = component.caseInsensitive && textPrefix ? foldCase(textPrefix) : textPrefix;
  const range = {
    ...(low && { low: { value: low.value, inclusive: low.exact ? low.inclusive : true } }),
    ...(high && { high: { value: high.value, inclusive: high.exact ? high.inclusive : true } }),
    ...(text !== undefined && { textPrefix: text }),
  };
  return {
    kind: 'search',
    ranges: prefixes.map((prefix): KeyBounds => ({ prefix, ...range })),
    isFullKey: false,
    // An open side may hold nulls or values of other kinds.
    exact: exactPrefix && low?.exact === true && high?.exact === true && textPrefix === undefined,
  };
}

function prefixOf(
  { prefix, prefixIsPattern }: CompiledBounds,
  context: ExecutionContext,
): Value | undefined {
  const text = prefix?.(context);
  if (prefixIsPattern === undefined || typeof text !== 'string') return text;
  const ignoreCase = prefixIsPattern === 'ilike';
  const pattern = compileLike(text, { ignoreCase });
  return ignoreCase ? pattern.foldedPrefix : pattern.prefix;
}

type BoundKey =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'scan' }
  | {
      readonly kind: 'key';
      readonly value: Value;
      readonly exact: boolean;
      readonly inclusive: boolean;
    };

function boundKey(
  bound: CompiledBound,
  component: KeyComponent,
  context: ExecutionContext,
): BoundKey {
  const key = keyFor(bound.value(context), component, context.formats, bound);
  if (key.kind !== 'key') return key;
  // Text made from a number stands elsewhere in the order than the number does.
  if (component.type === 'STRING' && !key.exact) return { kind: 'scan' };
  // Keys without letter case have another order than the texts themselves.
  if (component.caseInsensitive) return { kind: 'scan' };
  return { ...key, inclusive: bound.inclusive };
}
