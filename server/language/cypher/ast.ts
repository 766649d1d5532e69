import type { Value } from '#core/value/value.ts';

/*
 * Syntax of one Cypher statement. Offsets point into its text. Chains of one level are flat, so that neither parsing nor the tree
 * grows deep with their length.
 */

export interface Span {
  readonly at: number;
  readonly end: number;
}

export type StringOperator = 'STARTS WITH' | 'ENDS WITH' | 'CONTAINS';
export type ComparisonSign = '=' | '<>' | '<' | '<=' | '>' | '>=';
export type ChainSign = '+' | '-' | '*' | '/' | '%' | '^' | '||';
export type QuantifierKind = 'any' | 'all' | 'none' | 'single';

export type Expression = Span &
  (
    | { readonly kind: 'literal'; readonly value: Value }
    | { readonly kind: 'parameter'; readonly name: string }
    | { readonly kind: 'variable'; readonly name: string }
    | { readonly kind: 'property'; readonly of: Expression; readonly name: string }
    | { readonly kind: 'index'; readonly of: Expression; readonly key: Expression }
    | {
        readonly kind: 'slice';
        readonly of: Expression;
        readonly low: Expression | undefined;
        readonly high: Expression | undefined;
      }
    | { readonly kind: 'hasLabels'; readonly of: Expression; readonly labels: LabelExpression }
    | { readonly kind: 'sign'; readonly sign: '-' | '+'; readonly operand: Expression }
    | {
        readonly kind: 'chain';
        readonly signs: readonly ChainSign[];
        readonly operands: readonly Expression[];
      }
    | {
        readonly kind: 'comparison';
        readonly signs: readonly ComparisonSign[];
        readonly operands: readonly Expression[];
      }
    | { readonly kind: 'and' | 'or' | 'xor'; readonly operands: readonly Expression[] }
    | { readonly kind: 'not'; readonly operand: Expression }
    | {
        readonly kind: 'textTest';
        readonly operator: StringOperator;
        readonly left: Expression;
        readonly right: Expression;
      }
    | { readonly kind: 'matches'; readonly left: Expression; readonly right: Expression }
    | { readonly kind: 'in'; readonly element: Expression; readonly list: Expression }
    | { readonly kind: 'isNull'; readonly operand: Expression; readonly isNegated: boolean }
    | {
        readonly kind: 'isTyped';
        readonly operand: Expression;
        readonly isNegated: boolean;
        readonly type: TypeName;
      }
    | {
        readonly kind: 'case';
        readonly subject: Expression | undefined;
        readonly branches: readonly CaseBranch[];
        readonly otherwise: Expression | undefined;
      }
    | { readonly kind: 'list'; readonly items: readonly Expression[] }
    | { readonly kind: 'map'; readonly entries: readonly MapEntry[] }
    | {
        readonly kind: 'projection';
        readonly of: Expression;
        readonly items: readonly ProjectedEntry[];
      }
    | {
        readonly kind: 'comprehension';
        readonly variable: string;
        readonly list: Expression;
        readonly where: Expression | undefined;
        readonly result: Expression | undefined;
      }
    | {
        readonly kind: 'quantifier';
        readonly quantifier: QuantifierKind;
        readonly variable: string;
        readonly list: Expression;
        readonly where: Expression | undefined;
      }
    | {
        readonly kind: 'reduce';
        readonly accumulator: string;
        readonly initial: Expression;
        readonly variable: string;
        readonly list: Expression;
        readonly step: Expression;
      }
    | {
        readonly kind: 'call';
        readonly name: string;
        readonly isDistinct: boolean;
        readonly args: readonly Expression[];
      }
    | { readonly kind: 'countAll' }
    | { readonly kind: 'pattern'; readonly path: PathPattern }
    | {
        readonly kind: 'patternComprehension';
        readonly path: PathPattern;
        readonly where: Expression | undefined;
        readonly result: Expression;
      }
    | {
        readonly kind: 'subquery';
        readonly form: 'exists' | 'count' | 'collect';
        readonly query: Query;
      }
  );

export type ExpressionOf<Kind extends Expression['kind']> = Extract<
  Expression,
  { readonly kind: Kind }
>;

export interface CaseBranch {
  readonly when: Expression;
  readonly then: Expression;
}

export interface MapEntry {
  readonly key: string;
  readonly value: Expression;
}

export type ProjectedEntry =
  | { readonly kind: 'all' }
  | { readonly kind: 'entry'; readonly key: string; readonly value: Expression };

export interface TypeName {
  readonly name: string;
  readonly isNotNull: boolean;
  /** Of `LIST<T>`. */
  readonly of: TypeName | undefined;
}

export type LabelExpression =
  | (Span & { readonly kind: 'label'; readonly name: string })
  | (Span & { readonly kind: 'any' })
  | (Span & { readonly kind: 'computed'; readonly value: Expression })
  | (Span & { readonly kind: 'not'; readonly operand: LabelExpression })
  | (Span & { readonly kind: 'and' | 'or'; readonly operands: readonly LabelExpression[] });

export interface NodePattern extends Span {
  readonly variable: string | undefined;
  readonly labels: LabelExpression | undefined;
  /** A map or a parameter. */
  readonly properties: Expression | undefined;
  readonly where: Expression | undefined;
}

export interface Repetition {
  readonly min: number;
  readonly max: number | undefined;
}

export interface RelationshipPattern extends Span {
  readonly variable: string | undefined;
  readonly types: LabelExpression | undefined;
  readonly properties: Expression | undefined;
  readonly where: Expression | undefined;
  readonly direction: 'out' | 'in' | 'both';
  /** `-[*2..3]->` and `-[]->{2,3}`: the variable holds a list. */
  readonly repetition: Repetition | undefined;
  /** Both arrows, `<-[]->`: as good as none, but not where something is created. */
  readonly hasBothArrows: boolean;
}

export type PathSelector = 'shortest' | 'allShortest';
export type PathMode = 'WALK' | 'TRAIL' | 'ACYCLIC';

export interface PathPattern extends Span {
  readonly variable: string | undefined;
  readonly selector: PathSelector | undefined;
  /** The selectors of GQL choose from all paths, those that return to their start too, which the functions leave out. */
  readonly mayReturn: boolean;
  readonly mode: PathMode | undefined;
  /** Node, then pairs of a step and a node. */
  readonly first: NodePattern;
  readonly steps: readonly PathStep[];
}

export interface PathStep {
  readonly relationship: RelationshipPattern;
  readonly node: NodePattern;
  /** A quantified path: the part in parentheses takes the place of the relationship. */
  readonly group: QuantifiedPart | undefined;
}

export interface QuantifiedPart extends Span {
  readonly path: PathPattern;
  readonly where: Expression | undefined;
  readonly repetition: Repetition;
}

export interface Query extends Span {
  readonly parts: readonly SingleQuery[];
  /** Of all parts. */
  readonly union: 'all' | 'distinct' | undefined;
}

export interface SingleQuery extends Span {
  readonly clauses: readonly Clause[];
}

export interface ReturnItem extends Span {
  readonly value: Expression;
  readonly alias: string | undefined;
}

export interface SortItem {
  readonly value: Expression;
  readonly isDescending: boolean;
}

export interface Projection extends Span {
  readonly isDistinct: boolean;
  readonly isAll: boolean;
  readonly items: readonly ReturnItem[];
  readonly orderBy: readonly SortItem[];
  readonly skip: Expression | undefined;
  readonly limit: Expression | undefined;
}

export type SetItem = Span &
  (
    | { readonly kind: 'property'; readonly target: Expression; readonly value: Expression }
    | {
        readonly kind: 'entry';
        readonly of: Expression;
        readonly key: Expression;
        readonly value: Expression;
      }
    | {
        readonly kind: 'all' | 'merge';
        readonly variable: string;
        readonly value: Expression;
      }
    | { readonly kind: 'labels'; readonly variable: string; readonly labels: LabelExpression }
  );

export type RemoveItem = Span &
  (
    | { readonly kind: 'property'; readonly target: Expression }
    | { readonly kind: 'entry'; readonly of: Expression; readonly key: Expression }
    | { readonly kind: 'labels'; readonly variable: string; readonly labels: LabelExpression }
  );

export interface YieldItem extends Span {
  readonly column: string;
  readonly alias: string;
}

export interface InTransactions {
  readonly rows: Expression | undefined;
  readonly onError: 'CONTINUE' | 'BREAK' | 'FAIL';
  readonly status: string | undefined;
}

export type Clause = Span &
  (
    | {
        readonly kind: 'match';
        readonly isOptional: boolean;
        readonly isRepeatable: boolean;
        readonly paths: readonly PathPattern[];
        readonly where: Expression | undefined;
      }
    | { readonly kind: 'unwind'; readonly list: Expression; readonly variable: string }
    | {
        readonly kind: 'with';
        readonly projection: Projection;
        readonly where: Expression | undefined;
      }
    | { readonly kind: 'return'; readonly projection: Projection }
    | { readonly kind: 'finish' }
    | { readonly kind: 'filter'; readonly where: Expression }
    | { readonly kind: 'let'; readonly items: readonly { name: string; value: Expression }[] }
    | {
        readonly kind: 'order';
        readonly orderBy: readonly SortItem[];
        readonly skip: Expression | undefined;
        readonly limit: Expression | undefined;
      }
    | { readonly kind: 'create'; readonly paths: readonly PathPattern[] }
    | {
        readonly kind: 'merge';
        readonly path: PathPattern;
        readonly onCreate: readonly SetItem[];
        readonly onMatch: readonly SetItem[];
      }
    | { readonly kind: 'set'; readonly items: readonly SetItem[] }
    | { readonly kind: 'remove'; readonly items: readonly RemoveItem[] }
    | {
        readonly kind: 'delete';
        readonly isDetach: boolean;
        readonly targets: readonly Expression[];
      }
    | {
        readonly kind: 'foreach';
        readonly variable: string;
        readonly list: Expression;
        readonly clauses: readonly Clause[];
      }
    | {
        readonly kind: 'callProcedure';
        readonly name: string;
        /** undefined: without parentheses, from parameters. */
        readonly args: readonly Expression[] | undefined;
        readonly yields: readonly YieldItem[] | 'all' | undefined;
        readonly where: Expression | undefined;
        readonly isOptional: boolean;
        /** Of `do.when`: its arguments that are queries; undefined for one that is empty. */
        readonly queries?: readonly (Query | undefined)[];
      }
    | {
        readonly kind: 'callSubquery';
        readonly query: Query;
        /** undefined: an importing WITH inside. */
        readonly imports: readonly string[] | 'all' | undefined;
        readonly isOptional: boolean;
        readonly inTransactions: InTransactions | undefined;
      }
    | {
        readonly kind: 'loadCsv';
        readonly hasHeaders: boolean;
        readonly url: Expression;
        readonly variable: string;
        readonly terminator: string | undefined;
      }
  );

export type ClauseOf<Kind extends Clause['kind']> = Extract<Clause, { readonly kind: Kind }>;

export type Inspect = 'explain' | 'profile';

export interface CypherAst {
  readonly text: string;
  readonly inspect: Inspect | undefined;
  readonly statement: Statement;
}

export type Statement =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'command'; readonly command: Command };

export type EntityKind = 'node' | 'relationship';

export type Command = Span &
  (
    | {
        readonly kind: 'createIndex';
        readonly indexType: string;
        readonly name: string | undefined;
        readonly ifNotExists: boolean;
        readonly entity: EntityKind;
        readonly type: string;
        readonly properties: readonly string[];
        readonly options: Expression | undefined;
      }
    | {
        readonly kind: 'createConstraint';
        readonly name: string | undefined;
        readonly ifNotExists: boolean;
        readonly entity: EntityKind;
        readonly type: string;
        readonly properties: readonly string[];
        readonly rule: 'unique' | 'key' | 'notNull' | TypeName;
      }
    | { readonly kind: 'dropIndex'; readonly name: string; readonly ifExists: boolean }
    | { readonly kind: 'dropConstraint'; readonly name: string; readonly ifExists: boolean }
    | {
        readonly kind: 'show';
        readonly what:
          | 'indexes'
          | 'constraints'
          | 'procedures'
          | 'functions'
          | 'users'
          | 'currentUser'
          | 'databases'
          | 'transactions';
        readonly filter: string | undefined;
        /** The clauses behind it: YIELD as a WITH, WHERE, RETURN. */
        readonly yields: readonly YieldItem[] | 'all' | undefined;
        readonly tail: Clause[];
      }
    | {
        readonly kind: 'createUser' | 'alterUser';
        readonly name: string;
        readonly password: Expression;
        readonly ifNotExists: boolean;
      }
    | { readonly kind: 'dropUser'; readonly name: string; readonly ifExists: boolean }
    | {
        readonly kind: 'transaction';
        readonly operation: 'begin' | 'commit' | 'rollback';
        readonly isolation: string | undefined;
      }
    | {
        readonly kind: 'session';
        readonly operation: 'set' | 'reset' | 'close';
        readonly name: string | undefined;
        readonly value: Expression | undefined;
      }
  );
