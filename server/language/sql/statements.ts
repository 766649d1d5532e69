import type { IndexComponent, IndexKind } from '#catalog/catalog.ts';
import type { RecordKind } from '#core/value/record.ts';
import type { CompareSign, Expression, Located, NestedItem, Parameter } from './ast.ts';

/** Syntax of statements (sql.md sections 7 to 17). */
export type Statement =
  | Select
  | Match
  | Traverse
  | Insert
  | CreateEdge
  | Update
  | Delete
  | Inspect
  | SchemaStatement
  | Command
  | ScriptStatement;

// --- reading

export interface Select extends Located, ResultClauses {
  readonly kind: 'select';
  /** undefined: the records themselves. */
  readonly projection: Projection | undefined;
  readonly target: Target | undefined;
  readonly lets: readonly LetItem[];
  readonly where: Expression | undefined;
}

/** What follows the rows of a SELECT or MATCH. */
export interface ResultClauses {
  readonly groupBy: readonly Expression[];
  readonly orderBy: readonly OrderItem[];
  readonly unwind: readonly UnwoundColumn[];
  readonly skip: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly timeout: TimeLimit | undefined;
}

/** `UNWIND name [AS alias]`: the column the elements come from, and the one they go to. */
export interface UnwoundColumn {
  readonly name: string;
  /** `name` itself without AS. */
  readonly alias: string;
}

export interface Projection extends Located {
  readonly isDistinct: boolean;
  readonly items: readonly ProjectionItem[];
}

export type ProjectionItem =
  | { readonly kind: 'all'; readonly nested: readonly NestedItem[] | undefined }
  | { readonly kind: 'exclude'; readonly name: string }
  | {
      readonly kind: 'value';
      readonly value: Expression;
      readonly alias: string | undefined;
    };

export interface OrderItem {
  readonly value: Expression;
  readonly descending: boolean | Expression;
}

export interface TimeLimit {
  readonly ms: number;
  readonly onTimeout: 'fail' | 'end';
}

export interface LetItem {
  /** Without `$`. */
  readonly name: string;
  readonly value: Expression;
}

export type Target =
  | { readonly kind: 'type'; readonly name: string; readonly at: number }
  | { readonly kind: 'buckets'; readonly buckets: readonly (string | number)[] }
  | { readonly kind: 'bucketParameter'; readonly parameter: Parameter }
  | { readonly kind: 'rids'; readonly rids: readonly Expression[] }
  /** A parameter, variable, function call, or sub-query with something behind it. */
  | { readonly kind: 'value'; readonly value: Expression }
  | { readonly kind: 'subQuery'; readonly statement: Statement }
  | { readonly kind: 'index'; readonly name: string }
  | {
      readonly kind: 'indexValues';
      readonly name: string;
      readonly order: 'ascending' | 'descending';
    }
  | { readonly kind: 'schema'; readonly object: string; readonly name: string | undefined };

export interface Match extends Located, ResultClauses {
  readonly kind: 'match';
  readonly paths: readonly MatchPath[];
  readonly projection: Projection;
}

export interface MatchPath {
  readonly isNegated: boolean;
  readonly first: MatchNode;
  readonly steps: readonly MatchStep[];
}

export interface MatchNode extends Located {
  readonly alias: string | undefined;
  readonly types: readonly TypeReference[];
  readonly buckets: readonly (string | number)[];
  readonly rid: Expression | undefined;
  readonly where: Expression | undefined;
  readonly while: Expression | undefined;
  readonly maxDepth: number | undefined;
  readonly isOptional: boolean;
  readonly depthAlias: string | undefined;
  readonly pathAlias: string | undefined;
}

export type TypeReference =
  | { readonly kind: 'name'; readonly name: string; readonly at: number }
  | { readonly kind: 'parameter'; readonly parameter: Parameter };

export interface MatchStep extends Located {
  readonly move: MatchMove;
  readonly node: MatchNode;
}

export type MatchMove =
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly arguments: readonly Expression[];
    }
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'group'; readonly steps: readonly MatchStep[] }
  | {
      readonly kind: 'arrow';
      readonly direction: 'out' | 'in' | 'both';
      readonly type: string | undefined;
      /** Where the type stands. */
      readonly typeAt: number;
    };

export interface Traverse extends Located {
  readonly kind: 'traverse';
  readonly fields: readonly Expression[] | 'all';
  readonly target: Target;
  readonly maxDepth: number | undefined;
  readonly while: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly strategy: 'depth-first' | 'breadth-first';
  readonly timeout: TimeLimit | undefined;
}

// --- writing

/** INSERT and CREATE VERTEX. */
export interface Insert extends Located {
  readonly kind: 'insert';
  readonly command: 'INSERT' | 'CREATE VERTEX';
  readonly into: Destination;
  readonly body: InsertBody | undefined;
  readonly returning: Projection | undefined;
  readonly source: Statement | undefined;
}

export interface Destination {
  readonly type: NameReference | undefined;
  readonly bucket: string | number | Parameter | undefined;
}

/** A name in a place where a script variable may give it (`CREATE VERTEX $t`). */
export interface NameReference extends Located {
  readonly name: string;
  readonly isVariable: boolean;
}

export type InsertBody =
  | {
      readonly kind: 'values';
      readonly columns: readonly string[];
      /** Where each of them stands. */
      readonly columnsAt: readonly number[];
      /** One list literal or list of constants for each row. */
      readonly tuples: readonly Expression[];
    }
  | { readonly kind: 'set'; readonly items: readonly SetItem[] }
  | { readonly kind: 'content'; readonly value: Expression };

export interface SetItem extends Located {
  readonly property: string;
  readonly path: readonly PathStep[];
  readonly operator: '=' | '+=' | '-=' | '*=' | '/=';
  readonly value: Expression;
}

export type PathStep =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'element'; readonly key: Expression };

export interface CreateEdge extends Located {
  readonly kind: 'createEdge';
  readonly into: Destination;
  readonly from: Expression;
  readonly to: Expression;
  readonly ifNotExists: boolean;
  readonly items: readonly SetItem[];
  readonly content: Expression | undefined;
  readonly isUnidirectional: boolean;
}

export interface Update extends Located {
  readonly kind: 'update';
  readonly target: Target;
  readonly operations: readonly UpdateOperation[];
  readonly isUpsert: boolean;
  readonly appliesDefaults: boolean;
  readonly returning: {
    readonly mode: 'before' | 'after' | 'count';
    readonly projection: Projection | undefined;
  };
  readonly where: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly batch: Expression | undefined;
  readonly timeout: TimeLimit | undefined;
}

export type UpdateOperation =
  | { readonly kind: 'set'; readonly items: readonly SetItem[] }
  | { readonly kind: 'remove'; readonly items: readonly RemoveItem[] }
  | { readonly kind: 'merge'; readonly value: Expression }
  | { readonly kind: 'content'; readonly value: Expression };

export interface RemoveItem extends Located {
  readonly property: string;
  readonly path: readonly PathStep[];
  readonly value: Expression | undefined;
}

export interface Delete extends Located {
  readonly kind: 'delete';
  readonly target: Target;
  readonly returnsBefore: boolean;
  readonly where: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly batch: Expression | undefined;
  readonly isUnsafe: boolean;
}

/** EXPLAIN and PROFILE. */
export interface Inspect extends Located {
  readonly kind: 'inspect';
  readonly mode: 'explain' | 'profile';
  readonly statement: Statement;
}

// --- schema

export type SchemaStatement =
  | CreateType
  | AlterType
  | DropType
  | CreateProperty
  | AlterProperty
  | DropProperty
  | CreateBucket
  | DropBucket
  | CreateIndex
  | DropIndex;

export interface NamedValue {
  readonly name: string;
  /** Where the name stands. */
  readonly at: number;
  readonly value: Expression;
}

export interface CreateType extends Located {
  readonly kind: 'createType';
  readonly recordKind: RecordKind;
  readonly name: NameReference;
  readonly ifNotExists: boolean;
  readonly supertypes: readonly NameReference[];
  readonly buckets: readonly string[];
  readonly bucketCount: number | undefined;
  readonly custom: readonly NamedValue[];
  readonly isUnidirectional: boolean;
  readonly isLightweight: boolean;
  readonly isUnique: boolean;
}

export interface AlterType extends Located {
  readonly kind: 'alterType';
  readonly name: string;
  readonly items: readonly AlterTypeItem[];
  /** WITH name = value. */
  readonly settings: readonly NamedValue[];
}

export type AlterTypeItem =
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'supertype';
      readonly add: readonly string[];
      readonly remove: readonly string[];
    }
  | { readonly kind: 'bucket'; readonly add: readonly string[]; readonly remove: readonly string[] }
  | { readonly kind: 'bucketStrategy'; readonly strategy: string }
  | { readonly kind: 'custom'; readonly key: string; readonly value: Expression }
  | { readonly kind: 'aliases'; readonly aliases: readonly string[] };

export interface DropType extends Located {
  readonly kind: 'dropType';
  readonly name: NameReference | Parameter;
  readonly ifExists: boolean;
  readonly isUnsafe: boolean;
}

export interface PropertyAttribute {
  readonly name: string;
  /** undefined: written without a value. */
  readonly value: Expression | undefined;
}

export interface CreateProperty extends Located {
  readonly kind: 'createProperty';
  readonly type: NameReference;
  readonly property: NameReference;
  readonly ifNotExists: boolean;
  readonly dataType: string;
  readonly ofType: string | undefined;
  readonly attributes: readonly PropertyAttribute[];
  readonly custom: readonly NamedValue[];
}

export interface AlterProperty extends Located {
  readonly kind: 'alterProperty';
  readonly type: string;
  readonly property: string;
  readonly attributes: readonly PropertyAttribute[];
  readonly custom: readonly NamedValue[];
}

export interface DropProperty extends Located {
  readonly kind: 'dropProperty';
  readonly type: string;
  readonly property: string;
  readonly ifExists: boolean;
  readonly isForced: boolean;
}

export interface CreateBucket extends Located {
  readonly kind: 'createBucket';
  readonly name: string;
  readonly ifNotExists: boolean;
}

export interface DropBucket extends Located {
  readonly kind: 'dropBucket';
  readonly bucket: string | number;
  readonly ifExists: boolean;
}

/** A component of an index whose property, a path of names, is not looked up yet. */
export interface IndexedProperty extends Omit<IndexComponent, 'property'> {
  readonly path: readonly NameReference[];
}

export interface CreateIndex extends Located {
  readonly kind: 'createIndex';
  readonly name: NameReference | undefined;
  readonly ifNotExists: boolean;
  readonly type: NameReference;
  readonly components: readonly IndexedProperty[];
  readonly indexKind: IndexKind;
  readonly isUnique: boolean;
  readonly nullStrategy: 'SKIP' | 'ERROR' | 'INDEX';
  readonly metadata: Expression | undefined;
}

export interface DropIndex extends Located {
  readonly kind: 'dropIndex';
  /** undefined: all of them (`*`). */
  readonly name: string | undefined;
  readonly ifExists: boolean;
}

// --- everything else

/**
 * A statement of a family whose execution is not a plan (maintenance, triggers, views, time series, moves, ...), with what was
 * written in it by name.
 */
export interface Command extends Located {
  readonly kind: 'command';
  /** In upper case, as messages name it: `MOVE VERTEX`, `CREATE TRIGGER`. */
  readonly name: string;
  readonly arguments: ReadonlyMap<string, CommandArgument>;
}

export type CommandArgument =
  | string
  | number
  | boolean
  | { readonly kind: 'expression'; readonly value: Expression }
  | { readonly kind: 'statement'; readonly value: Statement }
  | { readonly kind: 'operation'; readonly value: UpdateOperation }
  | { readonly kind: 'names'; readonly value: readonly string[] }
  | { readonly kind: 'settings'; readonly value: readonly NamedValue[] };

/** Statements of SQLScript (section 17). */
export type ScriptStatement =
  | (Located & { readonly kind: 'let'; readonly items: readonly LetItem[] })
  | (Located & { readonly kind: 'setGlobal'; readonly name: string; readonly value: Expression })
  | (Located & { readonly kind: 'return'; readonly value: Expression | undefined })
  | (Located & {
      readonly kind: 'if';
      readonly condition: Expression;
      readonly then: readonly Statement[];
      readonly otherwise: readonly Statement[];
    })
  | (Located & {
      readonly kind: 'while';
      readonly condition: Expression;
      readonly body: readonly Statement[];
    })
  | (Located & {
      readonly kind: 'forEach';
      readonly variable: string;
      readonly list: Expression;
      readonly body: readonly Statement[];
    })
  | (Located & { readonly kind: 'break' | 'rollback' })
  | (Located & {
      readonly kind: 'begin';
      readonly isolation: 'READ_COMMITTED' | 'REPEATABLE_READ' | undefined;
    })
  | (Located & {
      readonly kind: 'commit';
      readonly retry: number | undefined;
      readonly otherwise: readonly Statement[];
      readonly afterFailure: 'fail' | 'continue';
    })
  | (Located & {
      readonly kind: 'lock';
      readonly what: 'type' | 'bucket';
      readonly names: readonly string[];
    })
  | (Located & { readonly kind: 'sleep'; readonly ms: Expression })
  | (Located & { readonly kind: 'console'; readonly level: string; readonly message: Expression })
  | (Located & { readonly kind: 'callStatement'; readonly call: Expression });

const scriptKinds: ReadonlySet<string> = new Set<ScriptStatement['kind']>([
  'let',
  'setGlobal',
  'return',
  'if',
  'while',
  'forEach',
  'break',
  'rollback',
  'begin',
  'commit',
  'lock',
  'sleep',
  'console',
  'callStatement',
]);

export function isScriptStatement(statement: Statement): statement is ScriptStatement {
  return scriptKinds.has(statement.kind);
}

/** Comparison signs as written and what they mean. */
export const compareSigns: ReadonlyMap<string, CompareSign> = new Map<string, CompareSign>([
  ['=', '='],
  ['==', '='],
  ['!=', '<>'],
  ['<>', '<>'],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
  ['<=>', '<=>'],
]);
