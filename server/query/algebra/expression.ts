import type { SchemaTypeName } from '#core/value/conversion.ts';
import type { Value } from '#core/value/value.ts';
import type { LogicalPlan } from './plan.ts';

/**
 * A column position in the frame of one statement. One statement has ONE frame (an array of values); slots are unique
 * across the whole program, sub-plans included, so a correlated sub-plan simply reads the slots of its outer plan.
 */
export type Slot = number;

/** Which language's rules a comparison, a null or a navigation follows. */
export type Dialect = 'sql' | 'cypher' | 'gremlin';

export type CompareOperator = '=' | '<>' | '<' | '<=' | '>' | '>=' | '<=>';
export type ArithmeticOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '<<'
  | '>>'
  | '>>>'
  | '&'
  | '^'
  | '|';

/**
 * What to compute from one frame. Names are resolved: columns and aliases to slots, functions to registry names.
 * Booleans are three-valued: a predicate gives true, false or null (unknown).
 */
export type Expression =
  /** `width`: a literal with a suffix, `5L`. */
  | { readonly op: 'Constant'; readonly value: Value; readonly width?: 'LONG' | undefined }
  /** Bound per execution; a missing one is null. Positional parameters are named '0', '1', ... */
  | { readonly op: 'Parameter'; readonly name: string }
  | { readonly op: 'Slot'; readonly slot: Slot }
  /** A context variable of a script or of the database (`SET GLOBAL`), read by name at run time; name without `$`. */
  | { readonly op: 'Variable'; readonly name: string }
  /** Navigation by name: record, map, embedded document; in dialect sql also through links and over lists (sql.md 1.7). */
  | {
      readonly op: 'Property';
      readonly of: Expression;
      readonly name: string;
      readonly dialect: Dialect;
    }
  /** System attribute of a record, embedded document or row map (there under the key '@rid' ...); null on anything else. */
  | { readonly op: 'Attribute'; readonly of: Expression; readonly attribute: Attribute }
  /** True when the record, map or embedded document has the property, even if null (IS DEFINED). */
  | { readonly op: 'IsDefined'; readonly of: Expression; readonly name: string }
  /** A scalar function of `query/functions/registry.ts`; methods are registered as `.name` and get the receiver first. */
  | { readonly op: 'Call'; readonly function: string; readonly arguments: readonly Expression[] }
  | { readonly op: 'Negate'; readonly operand: Expression; readonly dialect?: Dialect }
  | {
      readonly op: 'Arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly dialect: Dialect;
    }
  /** `||`: strings and lists (sql.md 5.4). Flat: `a || b || c` is one node, evaluated left to right. */
  | {
      readonly op: 'Concatenate';
      readonly operands: readonly Expression[];
      readonly dialect?: Dialect;
    }
  /** `??` and coalesce: the first operand that is not null. */
  | { readonly op: 'Coalesce'; readonly operands: readonly Expression[] }
  | {
      readonly op: 'Compare';
      readonly operator: CompareOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly dialect: Dialect;
    }
  /** Flat and n-ary, so that chains of 50,000 terms need no recursion. */
  | { readonly op: 'And' | 'Or'; readonly operands: readonly Expression[] }
  | { readonly op: 'Not'; readonly operand: Expression }
  /** True when an odd number of operands is; null when one is. */
  | { readonly op: 'Xor'; readonly operands: readonly Expression[] }
  /**
   * The operand as a condition, in a language where only booleans are such: true, false or null, anything else is a TypeError. AND,
   * OR, NOT, filters, CASE and predicates of lists take what is no boolean for false; `conditionOf` (`cypher.ts`) puts this around
   * what may be none.
   */
  | { readonly op: 'Truth'; readonly operand: Expression }
  | { readonly op: 'IsNull'; readonly operand: Expression }
  | {
      readonly op: 'In';
      readonly element: Expression;
      readonly list: Expression;
      readonly dialect: Dialect;
      /** `IN (x)`: a value that is no list is the only element of one. */
      readonly isBracketed?: boolean;
    }
  | {
      readonly op: 'Between';
      readonly operand: Expression;
      readonly low: Expression;
      readonly high: Expression;
      readonly dialect: Dialect;
    }
  | {
      readonly op: 'Like';
      readonly text: Expression;
      readonly pattern: Expression;
      readonly ignoreCase: boolean;
    }
  /**
   * Regular expression against the whole text; linear-time engine, bounded per statement by `command.regexTimeout`. In dialect
   * cypher null when either side is no text.
   */
  | {
      readonly op: 'Matches';
      readonly text: Expression;
      readonly pattern: Expression;
      readonly dialect?: Dialect;
    }
  /** Of two texts, unit by unit; null when either side is no text (STARTS WITH, ENDS WITH, CONTAINS of openCypher). */
  | {
      readonly op: 'TextPart';
      readonly kind: 'start' | 'end' | 'any';
      readonly text: Expression;
      readonly part: Expression;
    }
  | {
      readonly op: 'Contains';
      readonly kind: ContainsKind;
      readonly collection: Expression;
      readonly value: Expression;
    }
  /** A predicate over the elements of a collection, each put into slot `element` in turn (CONTAINS (cond), CONTAINSALL (cond), ...). */
  | {
      readonly op: 'Quantifier';
      readonly kind: 'any' | 'all' | 'none' | 'single';
      readonly list: Expression;
      readonly element: Slot;
      readonly predicate: Expression;
      readonly dialect: Dialect;
    }
  /** The elements that satisfy `predicate` (absent: all), each replaced by `result` (absent: itself). Selectors `[cond]`, comprehensions. */
  | {
      readonly op: 'Comprehension';
      readonly list: Expression;
      readonly element: Slot;
      readonly predicate?: Expression;
      readonly result?: Expression;
      readonly dialect: Dialect;
    }
  | {
      readonly op: 'Reduce';
      readonly list: Expression;
      readonly accumulator: Slot;
      readonly initial: Expression;
      readonly element: Slot;
      readonly step: Expression;
      /** In dialect cypher what is no list is a TypeError. */
      readonly dialect?: Dialect;
    }
  /**
   * True when the operand is a record of one of the types; false on anything else. Types are expanded (with subtypes) type names. In
   * dialect cypher null of null, and the names are labels or relationship types as written: what inherits from one of them counts,
   * by the schema of the moment.
   */
  | {
      readonly op: 'IsOfType';
      readonly operand: Expression;
      readonly types: readonly string[];
      readonly dialect?: Dialect;
    }
  /** Searched form; the simple form is rewritten by the analyzer with strict equality (`StrictEquals`). */
  | {
      readonly op: 'Case';
      readonly branches: readonly { readonly when: Expression; readonly then: Expression }[];
      readonly otherwise: Expression | undefined;
    }
  /** Same kind and equal value; null equals nothing (CASE x WHEN y). */
  | { readonly op: 'StrictEquals'; readonly left: Expression; readonly right: Expression }
  | { readonly op: 'List'; readonly items: readonly Expression[] }
  /** In dialect sql a map with an '@type' key becomes an embedded document when it is stored, not here. */
  | {
      readonly op: 'Map';
      readonly entries: readonly { readonly key: string; readonly value: Expression }[];
    }
  /** `value[key]`: element by position, entry by key; several keys give a list (sql.md 5.5). */
  | {
      readonly op: 'Element';
      readonly of: Expression;
      readonly keys: readonly Expression[];
      readonly dialect: Dialect;
    }
  /** `value[low..high]`; `inclusive` for `...`. In dialect cypher negative bounds count from the end and both are clipped. */
  | {
      readonly op: 'Slice';
      readonly of: Expression;
      readonly low: Expression | undefined;
      readonly high: Expression | undefined;
      readonly inclusive: boolean;
      readonly dialect?: Dialect;
    }
  /**
   * `value:{...}` (sql.md 7.5), element-wise on lists; also the row of `SELECT *, x AS y`. `element` is the slot in which the
   * nested record stands. The result is a map that starts empty; items act on it strictly in order, a later one overwriting
   * what an earlier one put under the same name (`all` too). Analyzers write an `all` where exclusions stand alone.
   */
  | {
      readonly op: 'NestedProjection';
      readonly of: Expression;
      readonly element: Slot;
      readonly items: readonly NestedItem[];
    }
  /**
   * A list of row values (the result of a collected sub-plan) used where one value is needed (sql.md 5.6, house 48): one row
   * with one column gives that value, no row null, more than one row is an error.
   */
  | { readonly op: 'SingleValue'; readonly rows: Expression }
  /** The rows of a collected sub-plan, each unwrapped when it has one column (right of IN, assignments). */
  | { readonly op: 'UnwrapRows'; readonly rows: Expression }
  /**
   * A sub-plan evaluated in place, to its end, without giving up the event loop. Analyzers lift sub-plans into `Apply`
   * nodes wherever the place allows; this is for predicates on list elements and lazily needed branches.
   */
  | {
      readonly op: 'SubPlan';
      readonly plan: LogicalPlan;
      readonly output: Output;
      readonly mode: 'collect' | 'exists' | 'count';
    };

export type Attribute = 'rid' | 'type' | 'cat' | 'in' | 'out' | 'version';
/** `item` is what `=` means on a list property with an index BY ITEM: a list must be equal, anything else an element. */
export type ContainsKind = 'element' | 'item' | 'all' | 'any' | 'key' | 'value' | 'text';

export type NestedItem =
  /** `@rid` and `@type` when there are such, and every property. */
  | { readonly kind: 'all' }
  /** Every entry of a map, or `@rid`, `@type` and the properties of a record (`*:{...}`); nothing for other values. */
  | { readonly kind: 'merge'; readonly value: Expression }
  | { readonly kind: 'include'; readonly name: string; readonly value: Expression }
  | { readonly kind: 'includePrefix'; readonly prefix: string }
  | { readonly kind: 'exclude'; readonly name: string }
  | { readonly kind: 'excludePrefix'; readonly prefix: string };

export interface OutputColumn {
  readonly name: string;
  readonly slot: Slot;
  /** Where more is known about the values than they show themselves: 5 may be a LONG. */
  readonly type?: SchemaTypeName;
}

/** How the rows of a plan look from outside. */
export type Output =
  /** Named columns; the row is a map of them. */
  | {
      readonly kind: 'columns';
      readonly columns: readonly OutputColumn[];
    }
  /** The row IS the value of this slot: a record is a full record row, a map is a row with its keys as columns. */
  | {
      readonly kind: 'value';
      readonly slot: Slot;
      /** What the only column is called where names are wanted all the same (openCypher). */
      readonly name?: string;
    };

/** `CALL { } IN TRANSACTIONS`: what the inner plan wrote is committed after each `count` outer rows (cypher.md 3.1). */
export interface InTransactions {
  readonly count: Expression;
  /** What becomes of a batch that fails and of those after it; a failed one is taken back in any case. */
  readonly onError: 'CONTINUE' | 'BREAK' | 'FAIL';
  /** Slots of the inner plan that are null where nothing was committed. */
  readonly slots: readonly Slot[];
  /** Gets a map that tells what became of the row's batch. */
  readonly status: Slot | undefined;
}
