import type { Value } from '#core/value/value.ts';
import type { Statement } from './statements.ts';

/**
 * Syntax of expressions and conditions (sql.md sections 5 and 6). A condition is an expression whose value is three-valued;
 * the parser keeps the places apart where only one of them may stand. Chains are flat, so that their length costs no depth.
 */
export type Expression =
  | Literal
  | Constants
  | RidLiteral
  | RidOf
  | Parameter
  | Name
  | AttributeOfRow
  | CurrentRecord
  | FunctionCall
  | Property
  | AllProperties
  | Method
  | Element
  | Slice
  | ElementsWhere
  | ElementsThat
  | NestedProjection
  | Unary
  | Chain
  | OperandList
  | ConditionList
  | Not
  | Comparison
  | NullTest
  | DefinedTest
  | Membership
  | Range
  | TextMatch
  | RegexMatch
  | Containment
  | TypeTest
  | ListLiteral
  | MapLiteral
  | ListComprehension
  | Case
  | Parentheses
  | SubQuery;

/** Where the source of a node starts and ends, as offsets of the text. */
export interface Located {
  readonly at: number;
  readonly end: number;
}

export interface Literal extends Located {
  readonly kind: 'literal';
  readonly value: Value;
  /** Of a number with the suffix. */
  readonly width?: 'LONG' | undefined;
  /** Keys of a map under which such numbers stand. */
  readonly longKeys?: ReadonlySet<string> | undefined;
}

/** A list of literals only: `[1, 2, 3]`, or the right side of `IN (1, 2, 3)`. Kept flat, since it may be very long. */
export interface Constants extends Located {
  readonly kind: 'constants';
  readonly values: readonly Value[];
}

export interface RidLiteral extends Located {
  readonly kind: 'rid';
  readonly value: Value;
}

/** `{@rid: expr}` */
export interface RidOf extends Located {
  readonly kind: 'ridOf';
  readonly value: Expression;
}

export interface Parameter extends Located {
  readonly kind: 'parameter';
  /** Positional ones are '0', '1', ... */
  readonly name: string;
}

/** A property of the row, or a context variable when it starts with `$`. */
export interface Name extends Located {
  readonly kind: 'name';
  readonly name: string;
  readonly isQuoted: boolean;
}

export type SystemAttribute =
  | '@rid'
  | '@type'
  | '@cat'
  | '@in'
  | '@out'
  | '@props'
  | '@rid_id'
  | '@rid_pos';

export interface AttributeOfRow extends Located {
  readonly kind: 'attribute';
  readonly attribute: SystemAttribute;
}

/** `@this` */
export interface CurrentRecord extends Located {
  readonly kind: 'this';
}

export interface FunctionCall extends Located {
  readonly kind: 'call';
  /** As written, parts joined with dots. */
  readonly name: string;
  readonly arguments: readonly Expression[];
  /** `f(*)` */
  readonly isStar: boolean;
}

export interface Property extends Located {
  readonly kind: 'property';
  readonly of: Expression;
  readonly name: string;
  readonly isQuoted: boolean;
}

/** `x.*` */
export interface AllProperties extends Located {
  readonly kind: 'allProperties';
  readonly of: Expression;
}

export interface Method extends Located {
  readonly kind: 'method';
  readonly of: Expression;
  readonly name: string;
  readonly arguments: readonly Expression[];
}

export interface Element extends Located {
  readonly kind: 'element';
  readonly of: Expression;
  readonly keys: readonly Expression[];
}

export interface Slice extends Located {
  readonly kind: 'slice';
  readonly of: Expression;
  readonly low: Expression | undefined;
  readonly high: Expression | undefined;
  readonly isInclusive: boolean;
}

/** `x[cond]` */
export interface ElementsWhere extends Located {
  readonly kind: 'elementsWhere';
  readonly of: Expression;
  readonly condition: Expression;
}

/** `x[> 5]`, `x[in [1, 2]]`, `x[like 'a%']` */
export interface ElementsThat extends Located {
  readonly kind: 'elementsThat';
  readonly of: Expression;
  readonly test: CompareSign | 'in' | 'not in' | 'like' | 'ilike';
  readonly value: Expression;
}

export interface NestedProjection extends Located {
  readonly kind: 'nested';
  readonly of: Expression;
  readonly items: readonly NestedItem[];
}

export type NestedItem =
  | { readonly kind: 'all'; readonly nested: readonly NestedItem[] | undefined }
  | { readonly kind: 'exclude'; readonly name: string }
  | { readonly kind: 'excludePrefix'; readonly prefix: string }
  | { readonly kind: 'includePrefix'; readonly prefix: string }
  | { readonly kind: 'include'; readonly value: Expression; readonly alias: string | undefined };

export interface Unary extends Located {
  readonly kind: 'unary';
  readonly sign: '+' | '-';
  readonly operand: Expression;
}

export type ChainSign = '+' | '-' | '*' | '/' | '%' | '<<' | '>>' | '>>>' | '&' | '^' | '|';

/** Operators of one precedence, from left to right; `signs` has one entry less than `operands`. */
export interface Chain extends Located {
  readonly kind: 'chain';
  readonly signs: readonly ChainSign[];
  readonly operands: readonly Expression[];
}

export interface OperandList extends Located {
  readonly kind: 'concatenate' | 'coalesce';
  readonly operands: readonly Expression[];
}

export interface ConditionList extends Located {
  readonly kind: 'and' | 'or';
  readonly operands: readonly Expression[];
}

export interface Not extends Located {
  readonly kind: 'not';
  readonly operand: Expression;
}

export type CompareSign = '=' | '<>' | '<' | '<=' | '>' | '>=' | '<=>';

export interface Comparison extends Located {
  readonly kind: 'compare';
  readonly sign: CompareSign;
  readonly left: Expression;
  readonly right: Expression;
}

export interface NullTest extends Located {
  readonly kind: 'isNull';
  readonly operand: Expression;
  readonly isNegated: boolean;
}

export interface DefinedTest extends Located {
  readonly kind: 'isDefined';
  readonly operand: Expression;
  readonly isNegated: boolean;
}

export interface Membership extends Located {
  readonly kind: 'in';
  readonly element: Expression;
  readonly list: Expression;
  readonly isNegated: boolean;
}

export interface Range extends Located {
  readonly kind: 'between';
  readonly operand: Expression;
  readonly low: Expression;
  readonly high: Expression;
  readonly isNegated: boolean;
}

export interface TextMatch extends Located {
  readonly kind: 'like';
  readonly text: Expression;
  readonly pattern: Expression;
  readonly ignoresCase: boolean;
  readonly isNegated: boolean;
}

export interface RegexMatch extends Located {
  readonly kind: 'matches';
  readonly text: Expression;
  readonly pattern: Expression;
}

export interface Containment extends Located {
  readonly kind: 'contains';
  readonly mode: 'element' | 'all' | 'any' | 'key' | 'value' | 'text';
  readonly collection: Expression;
  readonly value: Expression;
}

export interface TypeTest extends Located {
  readonly kind: 'instanceOf';
  readonly operand: Expression;
  readonly type: string;
}

export interface ListLiteral extends Located {
  readonly kind: 'list';
  readonly items: readonly Expression[];
}

export interface MapLiteral extends Located {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface MapEntry {
  readonly key: string;
  readonly value: Expression;
}

/** `[ x.name for x in list where cond ]` */
export interface ListComprehension extends Located {
  readonly kind: 'comprehension';
  readonly result: Expression;
  readonly variable: string;
  readonly list: Expression;
  readonly condition: Expression | undefined;
}

export interface Case extends Located {
  readonly kind: 'case';
  readonly subject: Expression | undefined;
  readonly branches: readonly CaseBranch[];
  readonly otherwise: Expression | undefined;
}

export interface CaseBranch {
  readonly when: Expression;
  readonly result: Expression;
}

export interface Parentheses extends Located {
  readonly kind: 'paren';
  readonly inner: Expression;
}

/** Any statement in parentheses. */
export interface SubQuery extends Located {
  readonly kind: 'subQuery';
  readonly statement: Statement;
}

/**
 * True for what may stand alone as a condition: comparisons and their combinations, `true`, `false`, `null`, function calls,
 * and these in parentheses.
 */
export function isCondition(expression: Expression): boolean {
  switch (expression.kind) {
    case 'and':
    case 'or':
    case 'not':
    case 'compare':
    case 'isNull':
    case 'isDefined':
    case 'in':
    case 'between':
    case 'like':
    case 'matches':
    case 'contains':
    case 'instanceOf':
    case 'call':
      return true;
    case 'literal':
      return expression.value === null || typeof expression.value === 'boolean';
    case 'paren':
      return isCondition(expression.inner);
    case 'method':
    case 'property':
    case 'element':
    case 'nested':
      return isCallChain(expression);
    default:
      return false;
  }
}

/** A function call with methods, selectors or a nested projection behind it is still a function call (sql.md 5.1). */
function isCallChain(expression: Expression): boolean {
  let current = expression;
  while (
    current.kind === 'method' ||
    current.kind === 'property' ||
    current.kind === 'element' ||
    current.kind === 'nested'
  )
    current = current.of;
  return current.kind === 'call';
}

/** True for a condition that is more than a value used as one: decides `CONTAINS (cond)` and `[cond]`. */
export function isPredicate(expression: Expression): boolean {
  if (expression.kind === 'paren') return isPredicate(expression.inner);
  return (
    isCondition(expression) &&
    expression.kind !== 'call' &&
    expression.kind !== 'literal' &&
    !isCallChain(expression)
  );
}
