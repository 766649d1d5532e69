import type { IndexComponent, IndexDefinition } from '#catalog/catalog.ts';
import { madeOnce } from '#core/replayed-loops.ts';
import { compileLike } from '#core/text/like-pattern.ts';
import type { TypeId } from '#core/value/rid.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { IndexBounds } from '../algebra/plan.ts';
import { slotsRead } from '../algebra/slots.ts';
import { operandsOf, walkExpression } from '../algebra/walk.ts';
import { lookedThrough } from '../algebra/look-through.ts';
import type { OptimizerContext } from './rule.ts';

/**
 * Finds out how the conjuncts of a filter can be answered by an ordered index: which components they bound, how many records
 * will be found about, and which conjuncts are then done with.
 */
export interface IndexCandidate {
  readonly index: IndexDefinition;
  readonly bounds: IndexBounds;
  /** Conjuncts that the bounds stand for. */
  readonly covered: readonly Expression[];
  /** Records found, estimated. */
  readonly rowCount: number;
  /** The share of the index that is read, where it is known rather than guessed. */
  readonly knownShare: number | undefined;
  /** Components are left open that may be null, and the index skips nulls: see `IndexSearchNode`. */
  readonly needsEveryRecord: boolean;
}

/** The share of entries with one key of an index that is not unique. */
const equalShare = 0.01;
const rangeShare = 0.1;
const openRangeShare = 0.15;
const prefixShare = 0.05;
/** Elements that an IN list of unknown length is taken to have. */
const assumedListLength = 10;

/** Indexes that hold the records of all the types and can be searched now. */
export function usableIndexes(
  types: readonly TypeId[],
  context: OptimizerContext,
): readonly IndexDefinition[] {
  const [first] = types;
  if (first === undefined) return [];
  const { catalog } = context;
  return catalog.indexesOn(first).filter((index) => {
    if (index.state !== 'READY' || (index.kind !== 'LSM_TREE' && index.kind !== 'HASH'))
      return false;
    for (let at = 1; at < types.length; at += 1)
      if (!catalog.isSubtype(types[at] as TypeId, index.type)) return false;
    return true;
  });
}

/** False when none of the indexes can be searched for the conjunct; a quick look that leaves the exact answer to `indexCandidates`. */
export function mayBeSearched(
  conjunct: Expression,
  record: Slot,
  indexes: readonly IndexDefinition[],
): boolean {
  if (indexes.length === 0 || conjunct.op === 'Not') return false;
  if (conjunct.op === 'Compare' && conjunct.operator === '<>') return false;
  return operandsOf(conjunct).some((operand) =>
    indexes.some((index) =>
      index.components.some((component) => isIndexed(operand, component, record)),
    ),
  );
}

/** Every index that at least one conjunct can use, the one with the fewest expected records first. */
export function indexCandidates(
  conjuncts: readonly Expression[],
  record: Slot,
  types: readonly TypeId[],
  context: OptimizerContext,
): readonly IndexCandidate[] {
  const recordCount = context.statistics.recordCount(types);
  const candidates: IndexCandidate[] = [];
  for (const index of usableIndexes(types, context)) {
    const candidate = madeOnce(
      () => candidateFor(index, conjuncts, record, recordCount, context),
      conjuncts.length,
    );
    if (candidate !== undefined) candidates.push(candidate);
  }
  // Of two that find as much, the one that serves whatever nulls will come.
  return candidates.sort(
    (a, b) => a.rowCount - b.rowCount || Number(a.needsEveryRecord) - Number(b.needsEveryRecord),
  );
}

/**
 * What a search leaves to be checked: conjuncts that it does not cover. Those of openCypher are covered, too: where a key was made by
 * a conversion of SQL, the search checks what it stands for on each record (`KeyOf.exact`).
 */
export function leftToCheck(
  conjuncts: readonly Expression[],
  covered: readonly Expression[],
): readonly Expression[] {
  return conjuncts.filter((conjunct) => !covered.includes(conjunct));
}

/** Compares by the rules of openCypher somewhere. */
export function isOfCypher(expression: Expression): boolean {
  let found = false;
  walkExpression(expression, (part) => {
    if (part.op === 'TextPart' || ('dialect' in part && part.dialect === 'cypher')) found = true;
  });
  return found;
}

interface Collected {
  readonly equals: IndexBounds['equals'][number][];
  readonly covered: Expression[];
  rowCount: number;
}

function candidateFor(
  index: IndexDefinition,
  conjuncts: readonly Expression[],
  record: Slot,
  recordCount: number,
  context: OptimizerContext,
): IndexCandidate | undefined {
  const collected: Collected = { equals: [], covered: [], rowCount: recordCount };
  let range: RangeBounds | undefined;
  for (const component of index.components) {
    const equality = equalityOn(component, index, conjuncts, record, context);
    if (equality !== undefined) {
      collected.equals.push(equality.part);
      collected.covered.push(equality.conjunct);
      collected.rowCount *= equalShare * equality.keyCount;
      continue;
    }
    range = rangeOn(component, conjuncts, record, context);
    break;
  }
  if (collected.equals.length === 0 && range === undefined) return undefined;
  const isFullKey = collected.equals.length === index.components.length;
  if (index.kind === 'HASH' && !isFullKey) return undefined;
  const boundCount = collected.equals.length + (range === undefined ? 0 : 1);
  const needsEveryRecord = !holdsAllMatches(index, boundCount, conjuncts, record);
  if (needsEveryRecord && !holdsEveryRecordNow(index, context)) return undefined;
  const known = range && knownShare(index, collected, range, context);
  return {
    index,
    bounds: { equals: collected.equals, ...range?.bounds },
    covered: [...collected.covered, ...(range?.covered ?? [])],
    rowCount: estimate(index, collected, isFullKey, known ?? range?.share ?? 1),
    knownShare: known,
    needsEveryRecord,
  };
}

function estimate(
  index: IndexDefinition,
  collected: Collected,
  isFullKey: boolean,
  share: number,
): number {
  if (isFullKey && index.unique)
    return collected.equals.reduce(
      (count, part) => count * (part.kind === 'in' ? assumedListLength : 1),
      1,
    );
  return Math.max(1, collected.rowCount * share);
}

/** For bounds that are written as constants, where they lie between the ends of the index. */
function knownShare(
  index: IndexDefinition,
  collected: Collected,
  range: RangeBounds,
  context: OptimizerContext,
): number | undefined {
  const { low, high, prefix } = range.bounds;
  if (collected.equals.length > 0 || prefix !== undefined) return undefined;
  const bounds = [low, high].filter((bound) => bound !== undefined);
  if (bounds.some((bound) => bound.value.op !== 'Constant')) return undefined;
  const [from, to] = [low, high].map((bound) =>
    bound?.value.op === 'Constant' ? bound.value.value : undefined,
  );
  return context.statistics.rangeShare(index.id, from, to);
}

/**
 * An index that skips nulls holds a record only when all its components are not null. A search that leaves components open
 * would miss records, unless the filter rejects null there anyway.
 */
function holdsAllMatches(
  index: IndexDefinition,
  boundCount: number,
  conjuncts: readonly Expression[],
  record: Slot,
): boolean {
  if (index.nullStrategy === 'INDEX') return true;
  return index.components
    .slice(boundCount)
    .every((component) => rejectsNull(component, conjuncts, record));
}

/** Looked at while planning, so that no plan is made that could not work now; and again when the plan runs. */
function holdsEveryRecordNow(index: IndexDefinition, context: OptimizerContext): boolean {
  return (
    index.components.every((component) => component.by === 'value') &&
    context.statistics.holdsEveryRecord(index.id)
  );
}

/** True when a conjunct keeps no record whose component is null. */
export function rejectsNull(
  component: IndexComponent,
  conjuncts: readonly Expression[],
  record: Slot,
): boolean {
  if (component.by !== 'value') return false;
  return conjuncts.some((conjunct) => {
    if (conjunct.op === 'Not') return rejectsNullByNot(conjunct.operand, component, record);
    if (conjunct.op === 'Compare')
      return (
        conjunct.operator !== '<=>' &&
        (isComponent(conjunct.left, component, record) ||
          isComponent(conjunct.right, component, record))
      );
    if (conjunct.op === 'Between') return isComponent(conjunct.operand, component, record);
    if (conjunct.op === 'In') return isComponent(conjunct.element, component, record);
    if (conjunct.op === 'TextPart') return isComponent(conjunct.text, component, record);
    return conjunct.op === 'Like' && isComponent(conjunct.text, component, record);
  });
}

/** IS NOT NULL, and NOT IN: of a list that holds something, whether null is in it is unknown. */
function rejectsNullByNot(operand: Expression, component: IndexComponent, record: Slot): boolean {
  if (operand.op === 'IsNull') return isComponent(operand.operand, component, record);
  if (operand.op !== 'In' || operand.list.op !== 'Constant') return false;
  const { value } = operand.list;
  return isList(value) && value.length > 0 && isComponent(operand.element, component, record);
}

/** True when the expression reads what the component indexes from the record in `record`. */
export function isComponent(
  expression: Expression,
  component: IndexComponent,
  record: Slot,
): boolean {
  if (expression.op === 'Attribute')
    return (
      (expression.attribute === 'out' || expression.attribute === 'in') &&
      component.property === `@${expression.attribute}` &&
      isRecord(expression.of, record)
    );
  return (
    expression.op === 'Property' &&
    expression.name === component.property &&
    isRecord(expression.of, record)
  );
}

function isRecord(expression: Expression, record: Slot): boolean {
  return expression.op === 'Slot' && expression.slot === record;
}

interface Equality {
  readonly part: IndexBounds['equals'][number];
  readonly conjunct: Expression;
  readonly keyCount: number;
}

function equalityOn(
  component: IndexComponent,
  index: IndexDefinition,
  conjuncts: readonly Expression[],
  record: Slot,
  context: OptimizerContext,
): Equality | undefined {
  for (const conjunct of conjuncts) {
    const part = equalityPart(conjunct, component, index, record, context);
    if (part !== undefined && isFixed(part.value, record, context))
      return { part, conjunct, keyCount: part.kind === 'in' ? listLength(part.value) : 1 };
  }
  return undefined;
}

function equalityPart(
  conjunct: Expression,
  component: IndexComponent,
  index: IndexDefinition,
  record: Slot,
  context: OptimizerContext,
): IndexBounds['equals'][number] | undefined {
  switch (conjunct.op) {
    case 'Compare': {
      if (conjunct.operator !== '=' || component.by !== 'value') return undefined;
      // A key without letter case is found by the lower case of what is asked for, where SQL has put it.
      if (component.caseInsensitive && conjunct.dialect === 'cypher') return undefined;
      if (isIndexed(conjunct.left, component, record))
        return { value: conjunct.right, kind: 'equals', ...rulesOf(conjunct) };
      if (isIndexed(conjunct.right, component, record))
        return { value: conjunct.left, kind: 'equals', isFlipped: true, ...rulesOf(conjunct) };
      return undefined;
    }
    case 'In':
      if (component.caseInsensitive && conjunct.dialect === 'cypher') return undefined;
      if (component.by === 'value' && isComponent(conjunct.element, component, record))
        return { value: conjunct.list, kind: 'in', ...rulesOf(conjunct) };
      return component.by === 'item' &&
        isComponent(conjunct.list, component, record) &&
        context.catalog.property(index.type, component.property)?.type === 'LIST'
        ? { value: conjunct.element, kind: 'equals', isFlipped: true }
        : undefined;
    case 'IsNull':
      return component.by === 'value' &&
        index.nullStrategy === 'INDEX' &&
        isComponent(conjunct.operand, component, record)
        ? { value: { op: 'Constant', value: null }, kind: 'null' }
        : undefined;
    case 'Contains':
      return containsPart(conjunct, component, record);
    default:
      return undefined;
  }
}

function rulesOf({
  dialect,
}: Expression & { readonly op: 'Compare' | 'In' }): Pick<IndexBounds['equals'][number], 'dialect'> {
  return dialect === 'cypher' ? { dialect } : {};
}

/** The property, or its lower-case form when the index ignores case. */
function isIndexed(expression: Expression, component: IndexComponent, record: Slot): boolean {
  if (isComponent(expression, component, record)) return true;
  return (
    component.caseInsensitive &&
    expression.op === 'Call' &&
    expression.function.toLowerCase() === '.tolowercase' &&
    expression.arguments[0] !== undefined &&
    isComponent(expression.arguments[0], component, record)
  );
}

function containsPart(
  conjunct: Expression & { readonly op: 'Contains' },
  component: IndexComponent,
  record: Slot,
): IndexBounds['equals'][number] | undefined {
  if (!isComponent(conjunct.collection, component, record)) return undefined;
  const { kind, value } = conjunct;
  if (kind === 'any' && component.by === 'item') return { value, kind: 'in' };
  if (kind === 'all' && component.by === 'item') {
    const one = oneOfAll(value);
    return one && { value: one, kind: 'equals', findsMore: true };
  }
  const isServed =
    ((kind === 'element' || kind === 'item') && component.by === 'item') ||
    (kind === 'key' && component.by === 'mapKey') ||
    (kind === 'value' && component.by === 'mapValue');
  return isServed ? { value, kind: 'equals' } : undefined;
}

/** An element that a list must hold when it holds all of them. */
function oneOfAll(wanted: Expression): Expression | undefined {
  const items = wanted.op === 'List' ? wanted.items : itemsOf(wanted);
  return items.find((item) => item.op === 'Constant' && isPlain(item.value));
}

function itemsOf(wanted: Expression): readonly Expression[] {
  if (wanted.op !== 'Constant') return [];
  if (!isList(wanted.value)) return [wanted];
  return wanted.value.map((value): Expression => ({ op: 'Constant', value }));
}

function isPlain(value: Value): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

interface RangeBounds {
  readonly bounds: Pick<IndexBounds, 'low' | 'high' | 'prefix' | 'prefixIsPattern'>;
  readonly covered: readonly Expression[];
  readonly share: number;
}

function rangeOn(
  component: IndexComponent,
  conjuncts: readonly Expression[],
  record: Slot,
  context: OptimizerContext,
): RangeBounds | undefined {
  if (component.by !== 'value') return undefined;
  const prefix = prefixOn(component, conjuncts, record);
  if (prefix !== undefined) return prefix;
  if (component.caseInsensitive) return undefined;
  let low: IndexBounds['low'];
  let high: IndexBounds['high'];
  const covered: Expression[] = [];
  for (const conjunct of conjuncts) {
    const found = rangePart(conjunct, component, record, context);
    if (found === undefined) continue;
    // Of several bounds on one side the first is used; the others stay in the filter.
    if ((found.low && low) || (found.high && high)) continue;
    low = found.low ?? low;
    high = found.high ?? high;
    covered.push(conjunct);
  }
  if (low === undefined && high === undefined) return undefined;
  return {
    bounds: { ...(low && { low }), ...(high && { high }) },
    covered,
    share: low && high ? rangeShare : openRangeShare,
  };
}

function rangePart(
  conjunct: Expression,
  component: IndexComponent,
  record: Slot,
  context: OptimizerContext,
): Pick<IndexBounds, 'low' | 'high'> | undefined {
  if (conjunct.op === 'Between') {
    const { operand, low, high } = conjunct;
    const isUsable =
      isComponent(operand, component, record) &&
      isFixed(low, record, context) &&
      isFixed(high, record, context);
    if (!isUsable) return undefined;
    return { low: { value: low, inclusive: true }, high: { value: high, inclusive: true } };
  }
  if (conjunct.op !== 'Compare') return undefined;
  const { left, right, operator } = conjunct;
  const isFlipped = isComponent(right, component, record);
  if (!isFlipped && !isComponent(left, component, record)) return undefined;
  const value = isFlipped ? left : right;
  if (!isFixed(value, record, context)) return undefined;
  const bound = { value, inclusive: operator === '<=' || operator === '>=', isFlipped };
  switch (operator) {
    case '<':
    case '<=':
      return isFlipped ? { low: bound } : { high: bound };
    case '>':
    case '>=':
      return isFlipped ? { high: bound } : { low: bound };
    default:
      return undefined;
  }
}

/** LIKE with a constant pattern that begins with literal text. */
function prefixOn(
  component: IndexComponent,
  conjuncts: readonly Expression[],
  record: Slot,
): RangeBounds | undefined {
  for (const conjunct of conjuncts) {
    const start = startOn(conjunct, component, record);
    if (start !== undefined)
      return { bounds: { prefix: start }, covered: [conjunct], share: prefixShare };
    if (conjunct.op !== 'Like') continue;
    if (conjunct.ignoreCase && !component.caseInsensitive) continue;
    if (!isComponent(conjunct.text, component, record)) continue;
    if (conjunct.pattern.op === 'Parameter' || conjunct.pattern.op === 'Variable') {
      const prefixIsPattern = conjunct.ignoreCase ? 'ilike' : 'like';
      const bounds = { prefix: conjunct.pattern, prefixIsPattern } as const;
      return { bounds, covered: [conjunct], share: prefixShare };
    }
    if (conjunct.pattern.op !== 'Constant') continue;
    const pattern = conjunct.pattern.value;
    if (typeof pattern !== 'string') continue;
    const { prefix, foldedPrefix } = compileLike(pattern, { ignoreCase: conjunct.ignoreCase });
    if (foldedPrefix !== '') {
      const bounds = { prefix: conjunct.pattern, prefixIsPattern: 'ilike' } as const;
      return { bounds, covered: [conjunct], share: prefixShare };
    }
    if (prefix === '') continue;
    return {
      bounds: { prefix: { op: 'Constant', value: prefix } },
      covered: [conjunct],
      share: prefixShare,
    };
  }
  return undefined;
}

/** STARTS WITH a constant that is not empty. */
function startOn(
  conjunct: Expression,
  component: IndexComponent,
  record: Slot,
): Expression | undefined {
  if (conjunct.op !== 'TextPart' || conjunct.kind !== 'start' || component.caseInsensitive)
    return undefined;
  const { text, part } = conjunct;
  const isServed = part.op === 'Constant' && typeof part.value === 'string' && part.value !== '';
  return isServed && isComponent(text, component, record) ? part : undefined;
}

/**
 * The value is the same for every record of the scan: it does not read the record and calls nothing random. What time it is counts
 * as fixed, so that a search asks once.
 */
export function isFixed(value: Expression, record: Slot, context: OptimizerContext): boolean {
  if (slotsRead(value).has(record)) return false;
  let isSame = true;
  return lookedThrough(
    [value],
    (part) => {
      if (part.op !== 'Call' || clockFunctions.has(part.function.toLowerCase())) return;
      if (context.functions.scalar(part.function)?.isDeterministic !== true) isSame = false;
    },
    () => isSame,
  );
}

const clockFunctions: ReadonlySet<string> = new Set(['date', 'sysdate']);

/** No function in the expression may give something else at the next call. Sub-plans count as deterministic. */
export function isDeterministic(value: Expression, context: OptimizerContext): boolean {
  let isSame = true;
  return lookedThrough(
    [value],
    (part) => {
      if (part.op === 'Call' && context.functions.scalar(part.function)?.isDeterministic !== true)
        isSame = false;
    },
    () => isSame,
  );
}

function listLength(list: Expression): number {
  if (list.op === 'List') return list.items.length;
  if (list.op === 'Constant' && Array.isArray(list.value)) return list.value.length;
  return assumedListLength;
}
