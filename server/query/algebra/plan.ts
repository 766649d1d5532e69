import type { BucketId, IndexId, TypeId } from '#core/value/rid.ts';
import type { Effect } from '#core/effects.ts';
import type { Warning } from '#core/warnings.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import type { Dialect, Expression, InTransactions, Output, Slot } from './expression.ts';
import type { MissingType } from './missing-type.ts';
import type { Maintenance } from './maintenance.ts';
import type { Branch, Move, PathSpec, Pattern, WalkedEdge } from './pattern.ts';

export type {
  Branch,
  Move,
  PathSpec,
  Pattern,
  PatternNode,
  PatternStep,
  WalkedEdge,
} from './pattern.ts';

/**
 * Relational-graph algebra: what every language compiles to. Nodes name what is wanted, never how. Each node adds the slots
 * it names to the frame of its input. Rules of the optimizer rewrite plans; `physical/` turns them into operators.
 *
 * Reading and writing in one statement: analyzers put `Eager` between the reading part and a write, so that a statement
 * sees the state from before its own writes.
 */
export type LogicalPlan =
  // --- sources
  /** One row without slots of its own. */
  | { readonly op: 'Argument' }
  /**
   * Records of the type and its subtypes (`types` is the expanded list) in scan order (sql.md 7.3): bucket order then position order,
   * then those that the transaction created, in the order of their creation; with `order`, by record id.
   */
  | {
      readonly op: 'TypeScan';
      readonly types: readonly TypeId[];
      readonly as: Slot;
      readonly order?: RidOrder;
      /** Set by the optimizer (`@rid > #12:100`), with an order: pages go on behind a record id. */
      readonly range?: RidRange;
      /** An index that would find so large a share of the records that all are read instead: told by EXPLAIN (sql.md 7.13). */
      readonly passedOver?: { readonly index: IndexId; readonly share: number };
    }
  | {
      readonly op: 'BucketScan';
      readonly buckets: readonly BucketId[];
      readonly as: Slot;
      readonly order?: RidOrder;
      readonly range?: RidRange;
    }
  /** Records by id, in the given order; missing ones are skipped. `rids` gives a RID, record, RID-shaped text or list of these. */
  | {
      readonly op: 'RecordLookup';
      readonly rids: Expression;
      readonly as: Slot;
      readonly types?: readonly TypeId[];
      /** Each record once, in scan order (`WHERE @rid IN [...]`). */
      readonly isSet?: boolean;
      /** `rids` gives numbers, as searches of indexes do: an object for each would be most of the work. */
      readonly areNumbers?: true;
    }
  /**
   * What a value names (`FROM :p`, `FROM $x`, `FROM f()`): RIDs and records are looked up, rows (maps) pass as they are,
   * text that is no RID is a type name and scans it, null gives no rows; anything else is `Invalid target: <v>`.
   * `names: 'bucket'`: the value is the name or number of a bucket, or a list of these (`FROM bucket::b`).
   */
  | {
      readonly op: 'DynamicSource';
      readonly value: Expression;
      readonly as: Slot;
      readonly names?: 'bucket';
    }
  /** For each record of the buckets and each of the targets that it refers to: both ids, and where in the record. */
  | {
      readonly op: 'FindReferences';
      readonly targets: Expression;
      readonly buckets: readonly BucketId[];
      readonly target: Slot;
      readonly referrer: Slot;
      readonly fields: Slot;
    }
  | IndexSearchNode
  /** Records that at least one of the searches finds, each once; all searches have the slot `as`. */
  | {
      readonly op: 'IndexUnion';
      readonly searches: readonly IndexSearchNode[];
      readonly types: readonly TypeId[];
      readonly as: Slot;
      readonly covers: Expression;
      /** By record id; absent: in scan order. */
      readonly ridOrder?: 'ascending';
    }
  /** One row with the number of live records of the types or buckets, read from counters. */
  | {
      readonly op: 'RecordCount';
      readonly types: readonly TypeId[];
      readonly buckets?: readonly BucketId[];
      readonly as: Slot;
    }
  /** Rows `{key, rid}` of an index as maps (`FROM index:name`). */
  | {
      readonly op: 'IndexEntries';
      readonly index: IndexId;
      /** Other entries are not wanted; where a bound is no key, all are given. */
      readonly bounds?: IndexBounds;
      readonly order: 'ascending' | 'descending';
      readonly as: Slot;
    }
  /** `schema:<kind>[:<name>]`, one map per object. */
  | {
      readonly op: 'SchemaScan';
      readonly kind: string;
      readonly name: string | undefined;
      readonly as: Slot;
    }
  // --- shaping
  | { readonly op: 'Filter'; readonly input: LogicalPlan; readonly predicate: Expression }
  /** Computes values into slots (projection, LET). Later columns may read earlier ones. */
  | {
      readonly op: 'Project';
      readonly input: LogicalPlan;
      readonly columns: readonly Column[];
      /** Set by the optimizer: a column may take seconds, and is computed in slices. */
      readonly isLong?: boolean;
    }
  /** One row per element of a list; `keepEmpty`: an empty list gives one row with null, a non-list passes unchanged (SQL UNWIND). */
  | {
      readonly op: 'Unwind';
      readonly input: LogicalPlan;
      readonly list: Expression;
      readonly as: Slot;
      readonly keepEmpty: boolean;
    }
  /** SQL expand(): records and RIDs to records (gone ones give nothing), maps to row maps, lists element-wise, scalars to {alias: x}. */
  | {
      readonly op: 'ExpandValue';
      readonly input: LogicalPlan;
      readonly value: Expression;
      readonly as: Slot;
      readonly scalarName: string;
    }
  | { readonly op: 'Distinct'; readonly input: LogicalPlan; readonly on: readonly Expression[] }
  | {
      readonly op: 'Sort';
      readonly input: LogicalPlan;
      readonly keys: readonly SortKey[];
      readonly limit?: Expression;
      /** Where the first key of the worst row that is still wanted stands for the scan below, and the property it is of. */
      readonly bound?: { readonly slot: Slot; readonly property: Expression };
      /** Which order: that of sql.md 7.8, or `compareForCypher` (null last). */
      readonly dialect?: Dialect;
    }
  | { readonly op: 'Skip'; readonly input: LogicalPlan; readonly count: Expression }
  | { readonly op: 'Limit'; readonly input: LogicalPlan; readonly count: Expression }
  /** Runs its input to the end and gives no rows (a statement without RETURN, FINISH). */
  | { readonly op: 'Drain'; readonly input: LogicalPlan }
  /**
   * In dialect cypher `sum`, `avg`, `min`, `max`, `collect`, `stDev`, `stDevP`, `percentileCont` and `percentileDisc` are those of
   * openCypher. `keys` empty: one group, also over zero rows. `first` keeps the value of the first row of the group (SQL). First-seen order.
   * `limit`: only the groups that are seen first are wanted.
   */
  | {
      readonly op: 'Aggregate';
      readonly input: LogicalPlan;
      readonly keys: readonly Column[];
      readonly first: readonly Column[];
      readonly aggregates: readonly AggregateColumn[];
      readonly dialect: Dialect;
      readonly limit?: Expression;
    }
  | {
      readonly op: 'Union';
      readonly inputs: readonly { readonly plan: LogicalPlan; readonly slots: readonly Slot[] }[];
      readonly as: readonly Slot[];
    }
  /** Stops with `Timeout` (or ends silently) after this many milliseconds of execution. */
  | {
      readonly op: 'TimeLimit';
      readonly input: LogicalPlan;
      readonly timeoutMs: number;
      readonly onTimeout: 'fail' | 'end';
    }
  /**
   * Reads all input rows before it gives the first; keeps `slots`. `isLive`: records in these slots, in lists, maps and paths too, show
   * from here on what the statement makes of them (`evaluate/live-record.ts`).
   */
  | {
      readonly op: 'Eager';
      readonly input: LogicalPlan;
      readonly slots: readonly Slot[];
      readonly isLive?: boolean;
    }
  // --- combination
  /**
   * For each outer row runs `inner`, which may read outer slots.
   * cross: outer x inner; optional: inner slots (`slots`) null when there is no inner row; semi / anti: outer rows with / without
   * inner rows; collect: slot `as` gets the list of inner row values; exists / count: slot `as` gets a boolean / number; unit: the
   * inner plan is run to its end and the outer row passes once.
   * An inner plan that reads no outer slot runs once, but with `isPerRow`, as sub-queries that write do (`unit` always).
   */
  | {
      readonly op: 'Apply';
      readonly outer: LogicalPlan;
      readonly inner: LogicalPlan;
      readonly mode: ApplyMode;
      readonly isPerRow?: boolean;
      /** Set by the optimizer (cross): other pairs than those that can be equal by SQL are not wanted. */
      readonly equality?: JoinEquality;
      /** `mode` is unit, cross or optional. */
      readonly transactions?: InTransactions;
    }
  // --- graph
  /** A graph pattern to be matched as a whole; the optimizer chooses start, order and directions. */
  | { readonly op: 'Match'; readonly input: LogicalPlan; readonly pattern: Pattern }
  /** From a bound vertex or edge to its neighbours: one row per edge. `into`: `to` is already bound and must be that record. */
  | {
      readonly op: 'Expand';
      readonly input: LogicalPlan;
      readonly from: Slot;
      readonly move: Move;
      readonly edge: Slot | undefined;
      readonly to: Slot;
      readonly into: boolean;
      readonly toTypes?: readonly TypeId[];
      /** Edges that are not walked: those of other steps of a pattern of distinct edges. */
      readonly unlike?: readonly WalkedEdge[];
    }
  /** The number of rows that `Expand` with this move would give for the row, read from counters; 0 for what is no vertex. */
  | {
      readonly op: 'Degree';
      readonly input: LogicalPlan;
      readonly from: Slot;
      readonly move: Move;
      readonly as: Slot;
      readonly unlike?: readonly WalkedEdge[];
    }
  /**
   * The number of ways in which branches of a pattern match at the element `from`: what as many `Expand`s would give in rows.
   * Null has no neighbours.
   */
  | {
      readonly op: 'BranchCount';
      readonly input: LogicalPlan;
      readonly from: Slot;
      readonly branches: readonly Branch[];
      readonly as: Slot;
    }
  /** Repeated expansion; every path is enumerated (no visited set) unless `distinctEdges` (Cypher relationship uniqueness). */
  | {
      readonly op: 'ExpandPath';
      readonly input: LogicalPlan;
      readonly from: Slot;
      readonly to: Slot;
      readonly into: boolean;
      readonly path: PathSpec;
    }
  /**
   * The ends of edges that are bound already, one row for each way in which they can be walked: `edges` holds an edge, or a list of
   * edges to be walked one after the other. What else is in the slot gives no row. Ends that are bound must be those.
   */
  | {
      readonly op: 'FollowEdges';
      readonly input: LogicalPlan;
      readonly edges: Slot;
      readonly from: Slot;
      readonly to: Slot;
      readonly fromIsBound: boolean;
      readonly toIsBound: boolean;
      readonly direction: 'out' | 'in' | 'both';
      /** Edges of other types give no row. */
      readonly types: readonly TypeId[] | undefined;
      readonly fromTypes?: readonly TypeId[];
      readonly toTypes?: readonly TypeId[];
      readonly unlike?: readonly WalkedEdge[];
    }
  /** SQL TRAVERSE: each record once; `fields` are evaluated with `as` bound. */
  | {
      readonly op: 'Traverse';
      readonly input: LogicalPlan;
      readonly roots: Expression;
      readonly as: Slot;
      readonly fields: readonly Expression[] | 'all';
      readonly depth: Slot;
      readonly path: Slot;
      /** The records visited so far, in order. */
      readonly history?: Slot;
      readonly maxDepth: number | undefined;
      readonly condition: Expression | undefined;
      readonly strategy: 'depth-first' | 'breadth-first';
    }
  // --- writes; each passes its rows on
  | {
      readonly op: 'Insert';
      readonly input: LogicalPlan;
      readonly type: TypeId;
      readonly bucket: BucketId | undefined;
      readonly assignments: readonly Assignment[];
      readonly as: Slot;
      /** openCypher: null sets nothing, values must be storable, the record is live; `labelCount` counts in the statistics. */
      readonly dialect?: Dialect;
      readonly labelCount?: number;
    }
  /**
   * For each row each of the steps once, in order: inserts and projections over `Argument`, of which each gives one row. As good as
   * a chain of them, for hundreds.
   */
  | {
      readonly op: 'InsertAll';
      readonly input: LogicalPlan;
      readonly steps: readonly LogicalPlan[];
    }
  /** Cartesian product of the vertices that `from` and `to` name. */
  | {
      readonly op: 'InsertEdge';
      readonly input: LogicalPlan;
      readonly type: TypeId;
      readonly bucket: BucketId | undefined;
      readonly from: Expression;
      readonly to: Expression;
      readonly ifNotExists: boolean;
      readonly unidirectional: boolean;
      readonly assignments: readonly Assignment[];
      readonly as: Slot;
      /** openCypher: as of `Insert`, and an end that is null is an error. */
      readonly dialect?: Dialect;
    }
  /**
   * `before`: slot that receives a copy (a row map) of the record as it was; `record` holds the new state afterwards.
   * `unless`: rows in which this slot is true pass unchanged, null in `before` (a record that `FindOrInsert` just made).
   */
  | {
      readonly op: 'Update';
      readonly input: LogicalPlan;
      readonly record: Slot;
      readonly assignments: readonly Assignment[];
      readonly applyDefaults: boolean;
      readonly before: Slot | undefined;
      readonly unless?: Slot;
      /**
       * openCypher: null removes a property, values must be storable, a record that is gone is an error, the row always passes, and
       * `record` stays live. `content` and `merge` take a map, node or relationship.
       */
      readonly dialect?: Dialect;
    }
  /**
   * In dialect cypher the slot holds a node, relationship, path, list of these or null; all input rows are read, then everything is
   * deleted, then the rows pass. A node with relationships that are not deleted by the end of the statement is an error then.
   */
  | {
      readonly op: 'Delete';
      readonly input: LogicalPlan;
      readonly record: Slot;
      readonly detach: boolean;
      readonly dialect?: Dialect;
    }
  /**
   * For each row the rows of `match`, which may read the slots of the input; when there are none, those of `create`. Each row sees
   * what was written for those before it. `slots` of either side stand in `as` afterwards. A value of `notNull` that is null is
   * `MergeReadOwnWrites`. Put `Eager` between the matching part of `match` and what it writes.
   */
  | {
      readonly op: 'Merge';
      readonly input: LogicalPlan;
      readonly match: { readonly plan: LogicalPlan; readonly slots: readonly Slot[] };
      readonly create: { readonly plan: LogicalPlan; readonly slots: readonly Slot[] };
      readonly as: readonly Slot[];
      readonly notNull: readonly Expression[];
    }
  /** The vertex in `record` goes to another type or bucket under a new id, with its edges; `as` holds it afterwards. */
  | {
      readonly op: 'MoveVertex';
      readonly input: LogicalPlan;
      readonly record: Slot;
      readonly type: TypeId;
      readonly bucket: BucketId | undefined;
      readonly assignments: readonly Assignment[];
      readonly as: Slot;
    }
  /**
   * openCypher `SET n:L` and `REMOVE n:L`: `record` holds a vertex or null, and stays live. Types and windows that are missing end the
   * statement with `MissingTypes`; whoever runs it makes them and executes it again.
   */
  | {
      readonly op: 'SetLabels';
      readonly input: LogicalPlan;
      readonly record: Slot;
      readonly mode: 'add' | 'remove';
      readonly labels: readonly string[];
    }
  /** Makes a deleted record again at its old id; edges have `ends`. */
  | {
      readonly op: 'RestoreRecord';
      readonly input: LogicalPlan;
      readonly type: TypeId;
      readonly rid: Expression;
      readonly ends: { readonly from: Expression; readonly to: Expression } | undefined;
      readonly assignments: readonly Assignment[];
      readonly as: Slot;
    }
  /** Passes rows on and commits the transaction after each `count` of them; what was committed stays (`BATCH n`). */
  | { readonly op: 'CommitEvery'; readonly input: LogicalPlan; readonly count: Expression }
  /** When `find` gives no row, one record is inserted with `initial` and is the only row; otherwise the rows of `find`. */
  | {
      readonly op: 'FindOrInsert';
      readonly find: LogicalPlan;
      readonly type: TypeId;
      readonly initial: readonly Assignment[];
      readonly as: Slot;
      readonly inserted: Slot;
    }
  /** `first`: changes that are made before; `counts`: what of the statistics it counts in. */
  | {
      readonly op: 'Alter';
      readonly change: SchemaChange;
      readonly as: Slot;
      readonly first?: readonly SchemaChange[];
      readonly counts?:
        | 'indexesAdded'
        | 'indexesRemoved'
        | 'constraintsAdded'
        | 'constraintsRemoved';
    }
  /** Runs its input to the end and gives one row: how that went, as text. */
  | { readonly op: 'Profile'; readonly input: LogicalPlan; readonly as: Slot }
  /** Work on the database as a whole; gives row maps. */
  | { readonly op: 'Maintain'; readonly work: Maintenance; readonly as: Slot }
  /** A stored procedure or maintenance operation by registry name; gives row maps. */
  | {
      readonly op: 'Call';
      readonly input: LogicalPlan;
      readonly procedure: string;
      readonly arguments: readonly Expression[];
      /** What it does beyond reading, on records of whatever type. */
      readonly effects?: readonly Effect[];
      readonly yields: readonly { readonly name: string; readonly slot: Slot }[];
    };

export type PlanOp = LogicalPlan['op'];
/** The member of the union with this `op`. */
export type PlanNode<Op extends PlanOp> = Extract<LogicalPlan, { readonly op: Op }>;

/**
 * Records of `types` found through an ordered index. With `order` they come in key order, else in scan order. `covers` is
 * the predicate that the bounds stand for: when a bound cannot be turned into a key at run time (a value of another kind
 * than the declared type), the types are scanned and `covers` is checked on each record, so the rows are the same.
 */
export interface IndexSearchNode {
  readonly op: 'IndexSearch';
  readonly index: IndexId;
  readonly bounds: IndexBounds;
  readonly types: readonly TypeId[];
  readonly as: Slot;
  /** By key; absent: in scan order. */
  readonly order?: 'ascending' | 'descending';
  /** Without `order`: by record id in place of scan order. */
  readonly ridOrder?: 'ascending';
  readonly covers?: Expression;
  /**
   * The index skips records with null in a component that the bounds leave open, so it serves only when every record stands
   * in it; otherwise the types are scanned.
   */
  readonly needsEveryRecord?: boolean;
  /** With `order`: records with null in a component that the bounds leave open are not wanted. */
  readonly skipsNulls?: boolean;
  /** With `order`: no more rows than this are wanted. */
  readonly limit?: Expression;
}

/** The order of record ids, for scans. */
export type RidOrder = 'ascending' | 'descending';

/** Bounds on record ids; each expression gives a RID, a record or RID-shaped text. */
export interface RidRange {
  readonly low?: { readonly value: Expression; readonly inclusive: boolean };
  readonly high?: { readonly value: Expression; readonly inclusive: boolean };
}

export interface Column {
  readonly slot: Slot;
  readonly value: Expression;
}

export interface AggregateColumn {
  readonly slot: Slot;
  /** Registry name of an aggregate. */
  readonly function: string;
  readonly arguments: readonly Expression[];
  readonly distinct: boolean;
}

export interface SortKey {
  readonly value: Expression;
  /** Evaluated once; ascending when a constant 'ASC' or true. */
  readonly descending: boolean | Expression;
}

/** What of an outer row is compared with what of an inner row. */
export interface JoinEquality {
  readonly outer: Expression;
  readonly inner: Expression;
}

export type ApplyMode =
  | { readonly kind: 'cross' }
  | { readonly kind: 'optional'; readonly slots: readonly Slot[] }
  | { readonly kind: 'semi' | 'anti' | 'unit' }
  | { readonly kind: 'collect'; readonly output: Output; readonly as: Slot }
  | { readonly kind: 'exists' | 'count'; readonly as: Slot };

/** Bounds of an ordered search, component by component: a prefix of equalities, then at most one range. */
export interface IndexBounds {
  /**
   * One expression per leading component; `in` ones give a list and are looked up one after the other; `null` looks for
   * null (its value does not matter). `isFlipped`: the property stood on the right side of the comparison, so its value was to
   * be converted to the kind of the other side. `findsMore`: not all records found satisfy the condition.
   * `dialect`: the condition is one of openCypher, which converts nothing and fails on what is no list.
   */
  readonly equals: readonly {
    readonly value: Expression;
    readonly kind: 'equals' | 'in' | 'null';
    readonly isFlipped?: boolean;
    readonly findsMore?: boolean;
    readonly dialect?: 'cypher';
  }[];
  readonly low?: IndexBound;
  readonly high?: IndexBound;
  /** Text prefix on the component after the equalities (LIKE 'abc%'). */
  readonly prefix?: Expression;
  /** `prefix` gives a pattern, known at run time only, whose text before the first wildcard is meant. */
  readonly prefixIsPattern?: 'like' | 'ilike';
}

export interface IndexBound {
  readonly value: Expression;
  readonly inclusive: boolean;
  readonly isFlipped?: boolean;
}

export type PathElement =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'element'; readonly key: Expression };

/**
 * One change of a record, evaluated in order. While an Insert or Update evaluates them, its record slot holds the record as
 * changed so far, so right sides see earlier ones.
 */
export type Assignment =
  | {
      readonly kind: 'set';
      readonly property: string;
      readonly path: readonly PathElement[];
      readonly operator: '=' | '+=' | '-=' | '*=' | '/=';
      readonly value: Expression;
      /** The name of the type of an integer, where more is known of it than its value shows (`binder/value-type.ts`). */
      readonly valueType?: Expression | undefined;
    }
  | {
      readonly kind: 'remove';
      readonly property: string;
      readonly path: readonly PathElement[];
      readonly value: Expression | undefined;
    }
  | { readonly kind: 'merge'; readonly value: Expression; readonly entryTypes?: EntryTypes }
  /** `n[key] = value`: of a record, by a name that is computed; dialect cypher. */
  | { readonly kind: 'entry'; readonly key: Expression; readonly value: Expression }
  /** Replaces all properties; a list gives the i-th record of the statement its i-th item. */
  | { readonly kind: 'content'; readonly value: Expression; readonly entryTypes?: EntryTypes };

/** As `valueType`, for entries of a map. */
export type EntryTypes = readonly { readonly key: string; readonly type: Expression }[];

/** A whole statement, ready to be authorized, optimized and run. */
export interface QueryProgram {
  readonly kind: 'query';
  readonly plan: LogicalPlan;
  readonly output: Output;
  /** Size of the frame. */
  readonly slotCount: number;
  /** LIMIT written in the statement (http-api.md 6.3): a constant, or a parameter by its name. */
  readonly statementLimit: number | { readonly parameter: string } | undefined;
  readonly inspect: 'explain' | 'profile' | undefined;
  /** No query, though it changes nothing (SHOW): refused where only queries are welcome. */
  readonly isCommand?: boolean;
  /** The text that it was made from, for the places of errors. */
  readonly source?: { readonly text: string; readonly at: number; readonly end: number };
  /** Its language: what is answered beside rows depends on it. */
  readonly dialect?: Dialect;
  /** Parameters that must be bound when it runs; the error names all that are missing. Those of SQL are null then. */
  readonly requiredParameters?: readonly string[];
  /** Types that must be there before it can be planned: whoever runs it makes them and analyzes the text again. */
  readonly missingTypes?: readonly MissingType[];
  /** A name in it was given by a parameter: it is good for this call only. */
  readonly dependsOnParameters?: boolean;
  /** Parameters that are null when the call does not give them, with the offset in `source` where each is first read. */
  readonly readParameters?: ReadonlyMap<string, number>;
  /** Slips that the analysis saw. */
  readonly warnings?: readonly Warning[];
}
