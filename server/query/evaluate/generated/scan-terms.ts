import type { Value } from '#core/value/value.ts';
import type { ArithmeticOperator, CompareOperator } from '../../algebra/expression.ts';
import type { Expression, Slot } from '../../algebra/expression.ts';
import { compileCondition, compileExpression } from '../compile.ts';
import { isStatementConstant } from '../constancy.ts';
import type { CompileEnvironment, Condition, Evaluator } from '../evaluator.ts';
import { attributeNamed } from '../navigation.ts';
import { compileUnwrapped } from '../rows.ts';
import { compileBound, type ScanBound, type ScanSpec } from './block-scan.ts';

/**
 * The predicate and columns of a scan, sorted into what generated code does itself on the bytes of a row and what it leaves
 * to closures over the record (`opaque`). Terms know property names and numbers of constants; shapes come later.
 */
export type PredicateTerm =
  | {
      readonly kind: 'compare';
      readonly operator: Exclude<CompareOperator, '<=>'>;
      readonly property: string;
      readonly constant: number;
      /** The constant stands on the left, so that the cell is converted to its type. */
      readonly isReversed: boolean;
    }
  | {
      readonly kind: 'between';
      readonly property: string;
      readonly low: number;
      readonly high: number;
      /** The whole condition, for constants whose types the code has no short way for. */
      readonly condition: number;
    }
  | {
      readonly kind: 'in';
      readonly property: string;
      readonly list: number;
      readonly condition: number;
    }
  | {
      readonly kind: 'like';
      readonly property: string;
      readonly pattern: number;
      readonly ignoreCase: boolean;
      readonly condition: number;
    }
  | { readonly kind: 'isNull'; readonly property: string }
  /** The cell does not sort behind a constant that is not null (`ScanBound`). */
  | {
      readonly kind: 'isWanted';
      readonly property: string;
      readonly constant: number;
      readonly descending: boolean;
      readonly isStrict: boolean;
      readonly condition: number;
    }
  /** Any two values that code can compute, compared by the general rules. */
  | {
      readonly kind: 'compareValues';
      readonly operator: Exclude<CompareOperator, '<=>'>;
      readonly left: ColumnTerm;
      readonly right: ColumnTerm;
    }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly PredicateTerm[] }
  | { readonly kind: 'not'; readonly term: PredicateTerm }
  | { readonly kind: 'opaque'; readonly condition: number };

export type ColumnTerm =
  | { readonly kind: 'cell'; readonly property: string }
  | { readonly kind: 'rid' }
  | { readonly kind: 'constant'; readonly constant: number }
  | {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: ColumnTerm;
      readonly right: ColumnTerm;
    }
  | { readonly kind: 'opaque'; readonly evaluator: number };

/** What is bound per execution, and the terms that refer to it by number. */
export interface ScanTerms {
  readonly predicate: PredicateTerm | undefined;
  readonly columns: readonly { readonly slot: Slot; readonly term: ColumnTerm }[];
  readonly constants: readonly Evaluator[];
  readonly conditions: readonly Condition[];
  readonly evaluators: readonly Evaluator[];
  /** Something is done on bytes; otherwise generated code would only be a detour to the closures. */
  readonly isWorthGenerating: boolean;
}

/** True when generated code computes the expression itself, from cells of the record in `record` and from constants. */
export function canGenerate(
  expression: Expression,
  record: Slot,
  env: CompileEnvironment,
): boolean {
  const builder = new TermBuilder({ record, columns: [] }, env);
  const term = builder.predicate(expression);
  return !holdsOpaque(term) || builder.column(expression).kind !== 'opaque';
}

function holdsOpaque(term: PredicateTerm): boolean {
  switch (term.kind) {
    case 'opaque':
      return true;
    case 'and':
    case 'or':
      return term.terms.some(holdsOpaque);
    case 'not':
      return holdsOpaque(term.term);
    default:
      return false;
  }
}

export function termsOf(spec: ScanSpec, env: CompileEnvironment): ScanTerms {
  const builder = new TermBuilder(spec, env);
  const predicate = withBound(spec, builder);
  const columns = spec.columns.map((column) => ({
    slot: column.slot,
    term: builder.column(column.value),
  }));
  const { constants, conditions, evaluators } = builder;
  const isWorthGenerating =
    (predicate !== undefined && !isAllOpaque(predicate)) ||
    (predicate === undefined && columns.some(({ term }) => term.kind !== 'opaque'));
  return { predicate, columns, constants, conditions, evaluators, isWorthGenerating };
}

/** What sorts behind the bound is told last: the predicate may fail on it. */
function withBound({ predicate, bound }: ScanSpec, builder: TermBuilder) {
  const term = predicate && builder.predicate(predicate);
  if (bound === undefined) return term;
  const wanted = builder.bound(bound);
  if (term === undefined) return wanted;
  const terms = term.kind === 'and' ? term.terms : [term];
  return { kind: 'and', terms: [...terms, wanted] } as const;
}

function isAllOpaque(term: PredicateTerm): boolean {
  switch (term.kind) {
    case 'opaque':
      return true;
    case 'and':
    case 'or':
      return term.terms.every(isAllOpaque);
    case 'not':
      return isAllOpaque(term.term);
    default:
      return false;
  }
}

/** Deeper arithmetic is left to closures. */
const arithmeticDepthMax = 8;

/** `a < b` is `b > a`. */
const reversed = { '=': '=', '<>': '<>', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

class TermBuilder {
  readonly constants: Evaluator[] = [];
  readonly conditions: Condition[] = [];
  readonly evaluators: Evaluator[] = [];
  readonly #env: CompileEnvironment;
  readonly #record: Slot;
  /** Slots that change from row to row. */
  readonly #varying: ReadonlySet<Slot>;

  constructor(spec: Pick<ScanSpec, 'record' | 'columns'>, env: CompileEnvironment) {
    this.#env = env;
    this.#record = spec.record;
    this.#varying = new Set([spec.record, ...spec.columns.map((column) => column.slot)]);
  }

  predicate(expression: Expression): PredicateTerm {
    switch (expression.op) {
      case 'And':
      case 'Or':
        return {
          kind: expression.op === 'And' ? 'and' : 'or',
          terms: expression.operands.map((operand) => this.predicate(operand)),
        };
      case 'Not':
        return { kind: 'not', term: this.predicate(expression.operand) };
      case 'IsNull': {
        const property = this.#propertyOf(expression.operand);
        return property === undefined ? this.#opaque(expression) : { kind: 'isNull', property };
      }
      case 'Compare':
        return this.#compare(expression);
      case 'Between':
        return this.#between(expression);
      case 'In':
        return this.#in(expression);
      case 'Like':
        return this.#like(expression);
      default:
        return this.#opaque(expression);
    }
  }

  bound(bound: ScanBound): PredicateTerm {
    const property = this.#propertyOf(bound.property);
    this.conditions.push(compileBound(bound, this.#env));
    const condition = this.conditions.length - 1;
    if (property === undefined) return { kind: 'opaque', condition };
    const { slot, descending, isStrict } = bound;
    this.constants.push((context) => context.frame[slot] as Value);
    const constant = this.constants.length - 1;
    return { kind: 'isWanted', property, constant, descending, isStrict, condition };
  }

  column(expression: Expression): ColumnTerm {
    const property = this.#propertyOf(expression);
    if (property !== undefined) return { kind: 'cell', property };
    if (this.#isConstant(expression))
      return { kind: 'constant', constant: this.#constant(expression) };
    if (expression.op === 'Attribute' && expression.attribute === 'rid')
      if (this.#isRecord(expression.of)) return { kind: 'rid' };
    const arithmetic = this.#arithmetic(expression, 0);
    if (arithmetic !== undefined) return arithmetic;
    this.evaluators.push(compileExpression(expression, this.#env));
    return { kind: 'opaque', evaluator: this.evaluators.length - 1 };
  }

  /** Arithmetic on cells and constants, a few levels deep; undefined for anything else. */
  #arithmetic(expression: Expression, depth: number): ColumnTerm | undefined {
    if (expression.op !== 'Arithmetic' || expression.dialect !== 'sql') return undefined;
    const left = this.#operandTerm(expression.left, depth + 1);
    const right = left && this.#operandTerm(expression.right, depth + 1);
    return right && { kind: 'arithmetic', operator: expression.operator, left, right };
  }

  #operandTerm(expression: Expression, depth: number): ColumnTerm | undefined {
    if (depth > arithmeticDepthMax) return undefined;
    const property = this.#propertyOf(expression);
    if (property !== undefined) return { kind: 'cell', property };
    if (this.#isConstant(expression))
      return { kind: 'constant', constant: this.#operand(expression) };
    return this.#arithmetic(expression, depth);
  }

  #compare(expression: Extract<Expression, { op: 'Compare' }>): PredicateTerm {
    const { operator, left, right } = expression;
    if (operator === '<=>' || expression.dialect !== 'sql') return this.#opaque(expression);
    const leftProperty = this.#propertyOf(left);
    if (leftProperty !== undefined && this.#isConstant(right))
      return {
        kind: 'compare',
        operator,
        property: leftProperty,
        constant: this.#operand(right),
        isReversed: false,
      };
    const rightProperty = this.#propertyOf(right);
    if (rightProperty !== undefined && this.#isConstant(left))
      return {
        kind: 'compare',
        operator: reversed[operator],
        property: rightProperty,
        constant: this.#operand(left),
        isReversed: true,
      };
    const leftTerm = this.#operandTerm(left, 0);
    const rightTerm = leftTerm && this.#operandTerm(right, 0);
    return rightTerm
      ? { kind: 'compareValues', operator, left: leftTerm, right: rightTerm }
      : this.#opaque(expression);
  }

  #between(expression: Extract<Expression, { op: 'Between' }>): PredicateTerm {
    const property = this.#propertyOf(expression.operand);
    const isSimple = this.#isConstant(expression.low) && this.#isConstant(expression.high);
    if (property === undefined || !isSimple || expression.dialect !== 'sql')
      return this.#opaque(expression);
    return {
      kind: 'between',
      property,
      low: this.#operand(expression.low),
      high: this.#operand(expression.high),
      condition: this.#condition(expression),
    };
  }

  #in(expression: Extract<Expression, { op: 'In' }>): PredicateTerm {
    const property = this.#propertyOf(expression.element);
    if (
      property === undefined ||
      !this.#isConstant(expression.list) ||
      expression.dialect !== 'sql'
    )
      return this.#opaque(expression);
    const list = this.#constant(expression.list);
    return { kind: 'in', property, list, condition: this.#condition(expression) };
  }

  #like(expression: Extract<Expression, { op: 'Like' }>): PredicateTerm {
    const property = this.#propertyOf(expression.text);
    if (property === undefined || !this.#isConstant(expression.pattern))
      return this.#opaque(expression);
    return {
      kind: 'like',
      property,
      pattern: this.#constant(expression.pattern),
      ignoreCase: expression.ignoreCase,
      condition: this.#condition(expression),
    };
  }

  #opaque(expression: Expression): PredicateTerm {
    return { kind: 'opaque', condition: this.#condition(expression) };
  }

  #condition(expression: Expression): number {
    this.conditions.push(compileCondition(expression, this.#env));
    return this.conditions.length - 1;
  }

  /** As an operand of a comparison, where the rows that a variable holds count as one value (compile.ts does the same). */
  #operand(expression: Expression): number {
    const number = this.#constant(expression);
    if (expression.op === 'Slot' || expression.op === 'Variable')
      this.constants[number] = compileUnwrapped(this.constants[number] as Evaluator);
    return number;
  }

  #constant(expression: Expression): number {
    this.constants.push(compileExpression(expression, this.#env));
    return this.constants.length - 1;
  }

  /** The property that the expression reads of the scanned record; undefined for anything else. */
  #propertyOf(expression: Expression): string | undefined {
    if (expression.op !== 'Property' || !this.#isRecord(expression.of)) return undefined;
    return attributeNamed(expression.name) === undefined && expression.dialect === 'sql'
      ? expression.name
      : undefined;
  }

  #isRecord(expression: Expression): boolean {
    return expression.op === 'Slot' && expression.slot === this.#record;
  }

  /** One value for all rows of an execution of the scan. */
  #isConstant(expression: Expression): boolean {
    if (expression.op === 'Slot') return !this.#varying.has(expression.slot);
    if (expression.op === 'Variable') return true;
    return isStatementConstant(expression, this.#env);
  }
}
