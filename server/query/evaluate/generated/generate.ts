import { readCell, readRid } from '#storage/format/row-record.ts';
import type { OutsideCells } from '#storage/format/row-record.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import { Link } from '#core/value/record.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import { double, Float, integer } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import type { Block } from '#storage/format/block.ts';
import { cellKind } from '#storage/format/cell.ts';
import { rowFlag, rowFlagsOffset } from '#storage/format/shape.ts';
import type { Column, Shape } from '#storage/format/shape.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { Slot } from '../../algebra/expression.ts';
import { arithmeticOf } from '../arithmetic/arithmetic.ts';
import type { BoundConstant, BoundList, BoundPattern } from '../bound-constant.ts';
import type { EvaluationContext, Frame } from '../context.ts';
import { compareBytes, compareGeneral, compareNullable } from './generated-support.ts';
import { equalBytes, startsWithBytes } from './generated-support.ts';
import type { ColumnTerm, PredicateTerm, ScanTerms } from './scan-terms.ts';
import { TextCache } from '../turns/text-cache.ts';

/**
 * Code for one scan over rows of one shape: the only place where code is made at run time (house decision 33).
 *
 * The text of the code consists of numbers (offsets in the row, the shape's number, slots of the frame, numbers of bindings)
 * and of operators and names from this file. Nothing of a statement gets into it: names have become offsets, constants are
 * bound as values. Rows that the code has no way for (cells kept outside, properties in the extra map, another shape) are
 * handed back to the caller.
 *
 * A predicate is three-valued. The code asks two questions of each term, "is it true" and "is it false"; unknown is neither.
 */
export interface RowProgram {
  readonly shape: Shape;
  /** As `RowSource.next`; -2 - s hands slot s back. */
  next(block: Block, slot: number): number;
  /** Counts rows from `slot` on into `counter`; -1 at the end of the block, else -2 - s. */
  count(block: Block, slot: number): number;
  readonly counter: { rowCount: number };
}

/** What a program is bound to for one execution. */
export interface ProgramBinding {
  readonly frame: Frame;
  readonly context: EvaluationContext;
  readonly snapshot: StorageSnapshot;
  /** Constants in the form their cells need, in the order in which `emitProgram` asked for them. */
  readonly values: readonly unknown[];
}

/** The forms of the constants of a scan, for the cells of one shape. */
export interface BoundForms {
  constant(number: number, column: Column, isReversed: boolean): BoundConstant;
  list(number: number, column: Column): BoundList;
  pattern(number: number, column: Column, ignoreCase: boolean): BoundPattern;
  /** A constant as it is. */
  value(number: number): Value;
}

export interface ScanShape {
  readonly record: Slot;
  readonly keepsRecord: boolean;
  readonly order: 'ascending' | 'descending';
}

/** Source text and the values it is bound to; equal texts mean equal code, whatever the values. */
export interface EmittedProgram {
  readonly source: string;
  readonly values: readonly unknown[];
}

/** Cost: some microseconds per term. */
export function emitProgram(
  terms: ScanTerms,
  scan: ScanShape,
  shape: Shape,
  forms: BoundForms,
): EmittedProgram {
  return new ProgramEmitter(terms, scan, shape, forms).emit();
}

export type ProgramFactory = (binding: ProgramBinding, shape: Shape) => RowProgram;

/** Compiles emitted source. Cost: some 100 microseconds. */
export function compileProgram(source: string): ProgramFactory {
  const make = new Function('library', 'bound', 'frame', 'context', 'snapshot', 'counter', source);
  return (binding, shape) => {
    const counter = { rowCount: 0 };
    const { frame, context, snapshot, values } = binding;
    const { next, count } = make(library, values, frame, context, snapshot, counter) as RowProgram;
    return { shape, next, count, counter };
  };
}

const noOutsideCells: OutsideCells = {
  outsideCell: () => {
    throw new Error('a row with cells outside was not handed back');
  },
};

/** What generated code may call. */
const library = {
  double,
  integer,
  readCell,
  readRid,
  equalBytes,
  startsWithBytes,
  compareBytes,
  compareGeneral,
  compareNullable,
  noOutsideCells,
  madeBytes,
  LocalDate,
  DateTime,
  Link,
} as const;

const operatorText = {
  '=': '===',
  '<>': '!==',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
} as const;

/** Characters; thousands of shorter ones that are joined in a turn stay below what it may make. */
const longText = 1_024;

const never = 'false';
const always = 'true';

class ProgramEmitter {
  readonly #terms: ScanTerms;
  readonly #scan: ScanShape;
  readonly #shape: Shape;
  readonly #forms: BoundForms;
  readonly #values: unknown[] = [];
  /** Names of bindings; terms that read the same column share one. */
  readonly #textCaches = new Map<Column, string>();
  /** Rows with one of these flags are handed back. */
  #refusedFlags = 0;
  #readsFlags = false;
  #needsRecord = false;
  /** It calls what may make large values. */
  #mayMake = false;

  constructor(terms: ScanTerms, scan: ScanShape, shape: Shape, forms: BoundForms) {
    this.#terms = terms;
    this.#scan = scan;
    this.#shape = shape;
    this.#forms = forms;
  }

  emit(): EmittedProgram {
    const { predicate, columns } = this.#terms;
    const test = predicate === undefined ? always : this.#isTrue(predicate);
    const writes = columns.map(({ slot, term }) => `frame[${slot}] = ${this.#column(term)};`);
    if (this.#scan.keepsRecord) writes.push(`${this.#recordText()};`);
    const give = `${writes.join(' ')} return slot;`;
    const lines = [
      '"use strict";',
      ...this.#values.map((_, i) => `const b${i} = bound[${i}];`),
      `return { next(block, slot) { ${this.#loop(test, give)} },`,
      `count(block, slot) { ${this.#loop(test, 'counter.rowCount++;')} } };`,
    ];
    return { source: lines.join('\n'), values: this.#values };
  }

  #loop(test: string, onMatch: string): string {
    const isAscending = this.#scan.order === 'ascending';
    const advance = isAscending
      ? 'slot = block.nextSlot(slot);'
      : 'slot = block.previousSlot(slot);';
    const flags = this.#refusedFlags;
    return [
      'const view = block.view, bytes = block.bytes;',
      'for (;;) {',
      advance,
      'if (slot < 0) return -1;',
      'const row = block.rowOffset(slot);',
      `if (view.getUint16(row + 4, true) !== ${this.#shape.id}) return -2 - slot;`,
      this.#readsFlags || flags !== 0
        ? `const flags = view.getUint16(row + ${rowFlagsOffset}, true);`
        : '',
      flags === 0 ? '' : `if ((flags & ${flags}) !== 0) return -2 - slot;`,
      this.#needsRecord ? 'let record = null;' : '',
      this.#mayMake ? 'library.madeBytes.rowStart = library.madeBytes.total;' : '',
      `if (${test}) { ${onMatch} }`,
      isAscending ? 'slot = slot + 1;' : 'slot = slot - 1;',
      '}',
    ].join('\n');
  }

  #bind(value: unknown): string {
    this.#values.push(value);
    return `b${this.#values.length - 1}`;
  }

  /** The scanned record, made at most once per row; it also stands in its slot then. */
  #recordText(): string {
    this.#needsRecord = true;
    return `(record === null ? (record = frame[${this.#scan.record}] = snapshot.recordAt(block, slot)) : record)`;
  }

  #opaque(condition: number): string {
    this.#mayMake = true;
    const name = this.#bind(this.#terms.conditions[condition]);
    return `(${this.#recordText()}, ${name}(context))`;
  }

  // --- predicates

  #isTrue(term: PredicateTerm): string {
    switch (term.kind) {
      case 'and':
        return conjunction(this.#cheapestFirst(term.terms).map((inner) => this.#isTrue(inner)));
      case 'or':
        return disjunction(this.#cheapestFirst(term.terms).map((inner) => this.#isTrue(inner)));
      case 'not':
        return this.#isFalse(term.term);
      case 'opaque':
        return `${this.#opaque(term.condition)} === true`;
      case 'isNull':
        return this.#isNull(term.property);
      case 'isWanted':
        return this.#isWanted(term);
      case 'compareValues':
        return `${this.#compareValues(term)} === true`;
      default:
        return this.#test(term, true);
    }
  }

  #isFalse(term: PredicateTerm): string {
    switch (term.kind) {
      case 'and':
        return disjunction(this.#cheapestFirst(term.terms).map((inner) => this.#isFalse(inner)));
      case 'or':
        return conjunction(this.#cheapestFirst(term.terms).map((inner) => this.#isFalse(inner)));
      case 'not':
        return this.#isTrue(term.term);
      case 'opaque':
        return `${this.#opaque(term.condition)} === false`;
      case 'isNull':
        return `!(${this.#isNull(term.property)})`;
      case 'isWanted':
        return `!(${this.#isWanted(term)})`;
      case 'compareValues':
        return `${this.#compareValues(term)} === false`;
      default:
        return this.#test(term, false);
    }
  }

  /**
   * Terms of AND or OR in another order where nobody can tell: among neighbours that cannot fail, those that read a number
   * come before those that compare bytes and those that make strings.
   */
  #cheapestFirst(terms: readonly PredicateTerm[]): readonly PredicateTerm[] {
    const ordered: PredicateTerm[] = [];
    let run: PredicateTerm[] = [];
    for (const term of terms) {
      if (this.#cost(term) !== undefined) {
        run.push(term);
        continue;
      }
      ordered.push(...this.#byCost(run), term);
      run = [];
    }
    return [...ordered, ...this.#byCost(run)];
  }

  #byCost(terms: readonly PredicateTerm[]): readonly PredicateTerm[] {
    return terms.toSorted((a, b) => (this.#cost(a) ?? 0) - (this.#cost(b) ?? 0));
  }

  /** Undefined for terms that may fail, which keep their place. */
  #cost(term: PredicateTerm): number | undefined {
    if (term.kind === 'isNull') return 0;
    if (term.kind !== 'compare' && term.kind !== 'in' && term.kind !== 'isWanted') return undefined;
    const column = this.#shape.column(term.property);
    const isFixed = column === undefined || column.fixedOffset >= 0;
    return (isFixed ? 1 : 2) + (term.kind === 'in' ? 2 : 0);
  }

  #compareValues(term: Extract<PredicateTerm, { kind: 'compareValues' }>): string {
    const operatorName = this.#bind(term.operator);
    const operands = `${this.#column(term.left)}, ${this.#column(term.right)}`;
    return `library.compareNullable(${operatorName}, ${operands}, context.formats)`;
  }

  #isNull(property: string): string {
    const column = this.#columnOf(property);
    return column === undefined ? always : `!(${isPresent(column)})`;
  }

  /** Null sorts first. What has no place among numbers (NaN) passes and is left to who sorts. */
  #isWanted(term: Extract<PredicateTerm, { kind: 'isWanted' }>): string {
    const column = this.#columnOf(term.property);
    const { descending, isStrict } = term;
    if (column === undefined) return descending ? never : always;
    const bound = this.#forms.constant(term.constant, column, true);
    if (!isOfCells(this.#forms.value(term.constant), column))
      return `${this.#opaque(term.condition)} === true`;
    const behind = descending ? (isStrict ? '<=' : '<') : isStrict ? '>=' : '>';
    const name = this.#bind(bound.value);
    const isBehind =
      bound.mode === 'bytes'
        ? `library.compareBytes(bytes, ${this.#start(column)}, ${this.#end(column)}, ${name}) ${behind} 0`
        : `${this.#number(column)} ${behind} ${name}`;
    return descending
      ? `(${isPresent(column)} && !(${isBehind}))`
      : `!(${isPresent(column)} && ${isBehind})`;
  }

  /** A comparison of one cell: `wanted` true asks whether it holds, false whether it is known not to. */
  #test(
    term: Extract<PredicateTerm, { kind: 'compare' | 'between' | 'in' | 'like' }>,
    wanted: boolean,
  ): string {
    const column = this.#columnOf(term.property);
    if (column === undefined)
      // Null on the left is unknown, but IN of an empty list, which no row can change, is false.
      return term.kind === 'in' ? `${this.#opaque(term.condition)} === ${wanted}` : never;
    switch (term.kind) {
      case 'compare':
        return this.#compare(term, column, wanted);
      case 'between':
        return this.#between(term, column, wanted);
      case 'in':
        return this.#in(term, column, wanted);
      case 'like':
        return this.#like(term, column, wanted);
    }
  }

  #compare(
    term: Extract<PredicateTerm, { kind: 'compare' }>,
    column: Column,
    wanted: boolean,
  ): string {
    const constant = this.#forms.constant(term.constant, column, term.isReversed);
    if (constant.mode === 'null') return never;
    const isHeld = this.#comparison(term, column, constant);
    return `(${isPresent(column)} && ${wanted ? isHeld : `!(${isHeld})`})`;
  }

  #comparison(
    term: Extract<PredicateTerm, { kind: 'compare' }>,
    column: Column,
    constant: Exclude<BoundConstant, { mode: 'null' }>,
  ): string {
    const operator = operatorText[term.operator];
    const name = this.#bind(constant.value);
    switch (constant.mode) {
      case 'number':
        return `${this.#number(column)} ${operator} ${name}`;
      case 'boolean':
        return `bytes[row + ${column.fixedOffset}] ${operator} ${name}`;
      case 'rid':
        return `library.readRid(view, ${this.#start(column)}) ${operator} ${name}`;
      case 'bytes': {
        const cell = `bytes, ${this.#start(column)}, ${this.#end(column)}, ${name}`;
        if (term.operator === '=') return `library.equalBytes(${cell})`;
        if (term.operator === '<>') return `!library.equalBytes(${cell})`;
        return `library.compareBytes(${cell}) ${operator} 0`;
      }
      case 'general': {
        const operatorName = this.#bind(term.operator);
        return `library.compareGeneral(${operatorName}, ${this.#value(column)}, ${name}, ${term.isReversed}, context.formats)`;
      }
    }
  }

  #between(
    term: Extract<PredicateTerm, { kind: 'between' }>,
    column: Column,
    wanted: boolean,
  ): string {
    const low = this.#forms.constant(term.low, column, false);
    const high = this.#forms.constant(term.high, column, false);
    if (low.mode === 'null' || high.mode === 'null') return never;
    if (low.mode !== 'number' || high.mode !== 'number')
      return `${this.#opaque(term.condition)} === ${wanted}`;
    const cell = this.#number(column);
    const isHeld = `(${cell} >= ${this.#bind(low.value)} && ${cell} <= ${this.#bind(high.value)})`;
    return `(${isPresent(column)} && ${wanted ? isHeld : `!${isHeld}`})`;
  }

  #in(term: Extract<PredicateTerm, { kind: 'in' }>, column: Column, wanted: boolean): string {
    const list = this.#forms.list(term.list, column);
    if (list.mode === 'closure') return `${this.#opaque(term.condition)} === ${wanted}`;
    const isIn =
      list.mode === 'texts' && list.all !== undefined && list.all.size <= comparedTextCountMax
        ? this.#isAnyOf(list.all, column)
        : `${this.#bind(list.value)}.has(${list.mode === 'numbers' ? this.#number(column) : this.#text(column)})`;
    if (wanted) return `(${isPresent(column)} && ${isIn})`;
    return list.hasNull ? never : `(${isPresent(column)} && !${isIn})`;
  }

  /** Few texts are compared as bytes, which makes no string of the cell. */
  #isAnyOf(texts: ReadonlySet<string>, column: Column): string {
    const cell = `bytes, ${this.#start(column)}, ${this.#end(column)}`;
    const tests = [...texts].map(
      (text) => `library.equalBytes(${cell}, ${this.#bind(Buffer.from(text))})`,
    );
    return disjunction(tests);
  }

  #like(term: Extract<PredicateTerm, { kind: 'like' }>, column: Column, wanted: boolean): string {
    const pattern = this.#forms.pattern(term.pattern, column, term.ignoreCase);
    if (pattern.mode === 'closure') return `${this.#opaque(term.condition)} === ${wanted}`;
    const name = this.#bind(pattern.value);
    const cell = `bytes, ${this.#start(column)}, ${this.#end(column)}, ${name}`;
    const isHeld =
      pattern.mode === 'exact'
        ? `library.equalBytes(${cell})`
        : pattern.mode === 'prefix'
          ? `library.startsWithBytes(${cell})`
          : `${name}.matches(${this.#text(column)})`;
    return `(${isPresent(column)} && ${wanted ? isHeld : `!${isHeld}`})`;
  }

  // --- columns

  #column(term: ColumnTerm): string {
    switch (term.kind) {
      case 'cell': {
        const column = this.#columnOf(term.property);
        return column === undefined
          ? 'null'
          : `(${isPresent(column)} ? ${this.#value(column)} : null)`;
      }
      case 'rid':
        return 'new library.Link(block.bucket * 137438953472 + block.firstPosition + slot)';
      case 'constant': {
        const value = this.#forms.value(term.constant);
        // What is joined to it costs nothing until it is read; texts in rows are read.
        if (typeof value === 'string' && value.length >= longText) this.#mayMake = true;
        return this.#bind(value);
      }
      case 'arithmetic': {
        const operation = this.#bind(arithmeticOf(term.operator));
        return `${operation}(${this.#column(term.left)}, ${this.#column(term.right)}, context)`;
      }
      case 'opaque': {
        const name = this.#bind(this.#terms.evaluators[term.evaluator]);
        this.#mayMake = true;
        return `(${this.#recordText()}, ${name}(context))`;
      }
    }
  }

  // --- cells

  /** The column of a property; undefined when rows of the shape have it at most in their extra map. */
  #columnOf(property: string): Column | undefined {
    const column = this.#shape.column(property);
    if (column === undefined) this.#refusedFlags |= rowFlag.extraMap;
    else if (column.variableIndex >= 0)
      this.#refusedFlags |= rowFlag.outsideCells | rowFlag.wideEnds;
    return column;
  }

  #number(column: Column): string {
    return `view.getFloat64(row + ${column.fixedOffset}, true)`;
  }

  /** The first variable cell follows the end offsets, the others each other. */
  #start(column: Column): string {
    const { endsOffset, variableCount } = this.#shape;
    if (column.variableIndex === 0) return `row + ${endsOffset + 2 * variableCount}`;
    return `row + view.getUint16(row + ${endsOffset + 2 * (column.variableIndex - 1)}, true)`;
  }

  #end(column: Column): string {
    return `row + view.getUint16(row + ${this.#shape.endsOffset + 2 * column.variableIndex}, true)`;
  }

  #text(column: Column): string {
    this.#readsFlags = true;
    let cache = this.#textCaches.get(column);
    if (cache === undefined) {
      cache = this.#bind(new TextCache());
      this.#textCaches.set(column, cache);
    }
    const cell = `${this.#start(column)}, ${this.#end(column)}`;
    return `((flags & ${rowFlag.jsonSafe}) !== 0 ? ${cache}.read(view, bytes, ${cell}) : bytes.utf8Slice(${cell}))`;
  }

  /** A cell that is not null, as a value. */
  #value(column: Column): string {
    switch (column.kind) {
      case cellKind.number:
        return this.#number(column);
      case cellKind.double:
        return `library.double(${this.#number(column)})`;
      case cellKind.boolean:
        return `bytes[row + ${column.fixedOffset}] === 1`;
      case cellKind.int64:
        return `library.integer(view.getBigInt64(row + ${column.fixedOffset}, true))`;
      case cellKind.date:
        return `new library.LocalDate(${this.#number(column)})`;
      case cellKind.dateTimeMillis:
        return `new library.DateTime(${this.#number(column)}, 0, "millis")`;
      case cellKind.dateTimeSecond:
        return `new library.DateTime(${this.#number(column)}, 0, "second")`;
      case cellKind.string:
        return this.#text(column);
      case cellKind.link:
        return `new library.Link(library.readRid(view, ${this.#start(column)}))`;
      default: {
        const shape = this.#bind(this.#shape);
        const name = this.#bind(column);
        return `library.readCell(${shape}, ${name}, block, row, library.noOutsideCells)`;
      }
    }
  }
}

/** Lists of texts up to this length are compared one by one. */
const comparedTextCountMax = 4;

/** Whether the value sorts among the cells of the column as their bytes do. */
function isOfCells(value: Value, { kind }: Column): boolean {
  switch (kind) {
    case cellKind.number:
    case cellKind.double:
      return typeof value === 'number' || value instanceof Float;
    case cellKind.string:
      return typeof value === 'string';
    default:
      return false;
  }
}

function isPresent(column: Column): string {
  return `(bytes[row + ${column.nullByte}] & ${column.nullMask}) === 0`;
}

function conjunction(texts: readonly string[]): string {
  return texts.length === 0 ? always : `(${texts.join(' && ')})`;
}

function disjunction(texts: readonly string[]): string {
  return texts.length === 0 ? never : `(${texts.join(' || ')})`;
}
