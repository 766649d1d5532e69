import { madeOnce, mapLong } from '#core/replayed-loops.ts';
import type { Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { Clause, ClauseOf, Query, SingleQuery } from '../ast.ts';
import { notSupported } from '../failures.ts';
import { batchedCall, readsNothing, requireOutermost } from './batched-call.ts';
import type { CompiledQuery, Compiler, QueryColumn } from './compiler.ts';
import { compileLoadCsv, hiddenBindings } from './load-csv.ts';
import { compileParts } from './pattern.ts';
import { compileProcedureCall, isVoid, writtenCall } from './procedure-call.ts';
import { compileProjection } from './projection.ts';
import { type Binding, type Scope, withBindings } from './scope.ts';
import { requireKind } from './static-kind.ts';
import { conditionIn } from './sub-query.ts';
import { bareName, compileWhen, foundVariable, isMergeCall, mergeOf } from './written-call.ts';
import {
  barrier,
  compileCreate,
  compileDelete,
  compileMerge,
  compileRemove,
  compileSet,
  type Row,
} from './write.ts';

/** Queries clause by clause: a table of rows goes through them (cypher.md 3). */

/** @param inner the variables that each part begins with; `outer` those that must not be named again by RETURN */
export function compileQuery(
  compiler: Compiler,
  query: Query,
  { outer, inner }: { readonly outer: Scope; readonly inner: Scope },
  mayEndOpen: boolean,
): CompiledQuery {
  const parts = mapLong(query.parts, (part) =>
    new SingleCompiler(compiler, part, inner, mayEndOpen).compile(),
  );
  for (const { columns = [] } of parts)
    for (const { name } of columns)
      if (outer.has(name))
        throw compiler.failure(
          'VariableAlreadyBound',
          query.at,
          `variable '${name}' is already defined outside of the sub-query`,
        );
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first as CompiledQuery;
  return union(compiler, query, parts);
}

function union(compiler: Compiler, query: Query, parts: readonly CompiledQuery[]): CompiledQuery {
  const [first] = parts as readonly [CompiledQuery];
  const { columns } = first;
  if (columns === undefined || parts.some((part) => part.columns === undefined))
    throw compiler.failure('InvalidClauseComposition', query.at, 'parts of a UNION return rows');
  for (const part of parts) {
    const names = part.columns?.map(({ name }) => name) ?? [];
    if (names.length !== columns.length || names.some((name, at) => columns[at]?.name !== name))
      throw compiler.failure(
        'DifferentColumnsInUnion',
        query.at,
        'the parts of a UNION have the same columns',
      );
  }
  const as = columns.map(() => compiler.newSlot());
  const all: LogicalPlan = {
    op: 'Union',
    inputs: parts.map((part) => ({
      plan: part.plan,
      slots: part.columns?.map(({ slot }) => slot) ?? [],
    })),
    as,
  };
  const plan: LogicalPlan =
    query.union === 'all'
      ? all
      : { op: 'Distinct', input: all, on: as.map((slot) => ({ op: 'Slot', slot })) };
  return {
    plan,
    columns: columns.map(({ name, kind }, at) => ({
      name,
      slot: as[at] as Slot,
      kind: parts.every((part) => part.columns?.[at]?.kind === kind) ? kind : 'value',
    })),
    writes: parts.some(({ writes }) => writes),
  };
}

class SingleCompiler {
  readonly #compiler: Compiler;
  readonly #query: SingleQuery;
  #plan: LogicalPlan = { op: 'Argument' };
  #scope: Scope;
  #columns: readonly QueryColumn[] | undefined;
  #writes = false;
  /** The plan ends in a barrier: nothing that was read is older than what was written. */
  #isSettled = false;

  /** It need not return anything: whether there are rows is all that is asked. */
  readonly #mayEndOpen: boolean;

  constructor(compiler: Compiler, query: SingleQuery, inner: Scope, mayEndOpen: boolean) {
    this.#mayEndOpen = mayEndOpen;
    this.#compiler = compiler;
    this.#query = query;
    this.#scope = inner;
  }

  compile(): CompiledQuery {
    const clauses = madeOnce(() => joined(this.#query.clauses));
    for (const [at, clause] of clauses.entries()) {
      const isLast = at === clauses.length - 1;
      if (!isLast) this.#requireMore(clause);
      this.#clause(clause, isLast);
    }
    this.#requireEnd();
    return { plan: this.#plan, columns: this.#columns, writes: this.#writes };
  }

  #requireMore({ kind, at }: Clause): void {
    if (kind !== 'return' && kind !== 'finish') return;
    throw this.#compiler.failure(
      'InvalidClauseComposition',
      at,
      `${kind.toUpperCase()} is the last clause of a query`,
    );
  }

  #requireEnd(): void {
    const last = this.#query.clauses.at(-1) as Clause;
    const isUnitCall = last.kind === 'callSubquery' || isLoneCall(last, this.#query);
    if (endings.has(last.kind) || isUnitCall) return;
    if (this.#mayEndOpen) return;
    throw this.#compiler.failure(
      'InvalidClauseComposition',
      last.at,
      `a query cannot end with ${last.kind === 'callProcedure' ? 'CALL' : last.kind.toUpperCase()}`,
    );
  }

  #clause(clause: Clause, isLast: boolean): void {
    switch (clause.kind) {
      case 'match':
        this.#read(this.#match(clause));
        return;
      case 'with':
      case 'return': {
        const row = { plan: this.#plan, scope: this.#scope };
        const how =
          clause.kind === 'with'
            ? ({ name: 'WITH', where: clause.where } as const)
            : ({ name: 'RETURN' } as const);
        const projected = compileProjection(this.#compiler, clause.projection, row, how);
        this.#read(projected);
        if (clause.kind === 'return') this.#columns = projected.columns;
        return;
      }
      case 'unwind':
        this.#unwind(clause);
        return;
      case 'filter': {
        const predicate = conditionIn(this.#compiler, clause.where, this.#scope);
        this.#plan = { op: 'Filter', input: this.#plan, predicate };
        return;
      }
      case 'let':
        for (const { name, value } of clause.items) {
          const slot = this.#compiler.newSlot();
          const column = { slot, value: this.#compiler.expression(value, this.#scope) };
          this.#plan = { op: 'Project', input: this.#plan, columns: [column] };
          this.#define(name, { slot, kind: 'value' }, clause.at);
        }
        return;
      case 'callSubquery':
        this.#subQuery(clause, isLast);
        return;
      case 'loadCsv':
        this.#loadCsv(clause);
        return;
      case 'order': {
        const { orderBy, skip, limit, at, end } = clause;
        const all = { isDistinct: false, isAll: true, items: [], orderBy, skip, limit, at, end };
        const row = { plan: this.#plan, scope: this.#scope };
        this.#read(compileProjection(this.#compiler, all, row, { name: 'WITH', where: undefined }));
        return;
      }
      case 'callProcedure':
        this.#callProcedure(clause);
        return;
      case 'finish':
        this.#plan = { op: 'Limit', input: this.#plan, count: { op: 'Constant', value: 0 } };
        return;
      default:
        this.#write(clause, isLast);
    }
  }

  #callProcedure(clause: ClauseOf<'callProcedure'>): void {
    const isAlone = this.#query.clauses.length === 1;
    if (this.#callWritten(clause, isAlone)) return;
    const row = { plan: this.#plan, scope: this.#scope };
    const called = compileProcedureCall(this.#compiler, clause, row, isAlone);
    if (called.writes) {
      this.#writes = true;
      called.plan = barrier(called.plan, called.scope);
    }
    this.#read(called);
    this.#isSettled = called.writes;
    if (isAlone) this.#columns = called.columns;
  }

  /** A call that stands for clauses. @returns false for other procedures */
  #callWritten(clause: ClauseOf<'callProcedure'>, isAlone: boolean): boolean {
    const isWhen = bareName(clause) === 'do.when';
    if (!isWhen && !isMergeCall(clause)) return false;
    const outer = this.#scope;
    const { alias, kind } = writtenCall(this.#compiler, clause, outer, isAlone);
    if (clause.isOptional) throw notSupported(`OPTIONAL CALL ${clause.name}`);
    let slot: Slot;
    if (isWhen) {
      const before = this.#isSettled ? this.#plan : barrier(this.#plan, outer);
      const found = compileWhen(this.#compiler, clause, { plan: before, scope: outer });
      this.#writes ||= found.writes;
      this.#plan = found.plan;
      slot = found.value;
      this.#isSettled = false;
    } else {
      this.#write(mergeOf(clause) as Clause, false);
      slot = this.#scope.get(foundVariable)?.slot as Slot;
    }
    const given = alias === undefined ? [] : [[alias, { slot, kind }] as const];
    this.#scope = withBindings(outer, given);
    if (isWhen && this.#writes) {
      this.#plan = barrier(this.#plan, this.#scope);
      this.#isSettled = true;
    }
    if (clause.where !== undefined) {
      const predicate = conditionIn(this.#compiler, clause.where, this.#scope);
      this.#plan = { op: 'Filter', input: this.#plan, predicate };
    }
    if (isAlone && alias !== undefined) this.#columns = [{ name: alias, slot, kind }];
    return true;
  }

  #read(row: Row): void {
    this.#plan = row.plan;
    this.#scope = row.scope;
    this.#isSettled = false;
  }

  #define(name: string, binding: Binding, at: number): void {
    if (this.#scope.has(name))
      throw this.#compiler.failure(
        'VariableAlreadyBound',
        at,
        `variable '${name}' is already defined`,
      );
    this.#scope = withBindings(this.#scope, [[name, binding]]);
  }

  #match(clause: ClauseOf<'match'>): Row {
    const { paths: parts, where, isOptional } = clause;
    const input: LogicalPlan = isOptional ? { op: 'Argument' } : this.#plan;
    const distinctEdges = !clause.isRepeatable;
    const found = compileParts(this.#compiler, parts, this.#scope, { input, distinctEdges });
    const scope = withBindings(this.#scope, found.bindings);
    let { plan } = found;
    if (where !== undefined) {
      requireKind(this.#compiler, where, scope, ['boolean'], 'a boolean');
      plan = { op: 'Filter', input: plan, predicate: conditionIn(this.#compiler, where, scope) };
    }
    if (!isOptional) return { plan, scope };
    const slots = found.bindings.map(([, { slot }]) => slot);
    const mode = { kind: 'optional' as const, slots };
    return { plan: { op: 'Apply', outer: this.#plan, inner: plan, mode }, scope };
  }

  #unwind(clause: ClauseOf<'unwind'>): void {
    const list = this.#compiler.expression(clause.list, this.#scope);
    const as = this.#compiler.newSlot();
    this.#plan = { op: 'Unwind', input: this.#plan, list, as, keepEmpty: false };
    this.#define(clause.variable, { slot: as, kind: 'value' }, clause.at);
    this.#isSettled = false;
  }

  #loadCsv(clause: ClauseOf<'loadCsv'>): void {
    const row = { plan: this.#plan, scope: this.#scope };
    const { plan, bindings } = compileLoadCsv(this.#compiler, clause, row);
    const [[name, record], ...hidden] = bindings as [(typeof bindings)[0], ...typeof bindings];
    this.#define(name, record, clause.at);
    this.#read({ plan, scope: withBindings(this.#scope, hidden) });
  }

  /** A clause that writes stands between two barriers. */
  #write(clause: Clause, isLast: boolean): void {
    this.#writes = true;
    if (!this.#isSettled) this.#plan = barrier(this.#plan, this.#scope);
    const row = this.#written(clause, { plan: this.#plan, scope: this.#scope });
    this.#scope = row.scope;
    this.#plan = isLast ? row.plan : barrier(row.plan, row.scope);
    this.#isSettled = true;
  }

  #written(clause: Clause, row: Row): Row {
    switch (clause.kind) {
      case 'create':
        return compileCreate(this.#compiler, clause.paths, row);
      case 'merge':
        return compileMerge(this.#compiler, clause, row);
      case 'set':
        return compileSet(this.#compiler, clause.items, row);
      case 'remove':
        return compileRemove(this.#compiler, clause.items, row);
      case 'delete':
        return compileDelete(this.#compiler, clause, row);
      case 'foreach':
        return this.#foreach(clause, row);
      default:
        throw this.#compiler.failure('UnexpectedSyntax', clause.at, 'unexpected clause');
    }
  }

  #foreach(clause: ClauseOf<'foreach'>, row: Row): Row {
    const as = this.#compiler.newSlot();
    const list = this.#compiler.expression(clause.list, row.scope);
    let inner: Row = {
      plan: { op: 'Unwind', input: { op: 'Argument' }, list, as, keepEmpty: false },
      scope: withBindings(row.scope, [[clause.variable, { slot: as, kind: 'value' }]]),
    };
    for (const one of clause.clauses) {
      const before = { plan: barrier(inner.plan, inner.scope), scope: inner.scope };
      inner = this.#written(one, before);
    }
    return {
      plan: { op: 'Apply', outer: row.plan, inner: inner.plan, mode: { kind: 'unit' } },
      scope: row.scope,
    };
  }

  #subQuery(clause: ClauseOf<'callSubquery'>, isLast: boolean): void {
    const inner = this.#imported(clause);
    const { plan, columns, writes } = this.#compiler.query(clause.query, this.#scope, inner);
    if (clause.inTransactions !== undefined) {
      this.#inTransactions(clause, { plan, columns, writes }, isLast);
      return;
    }
    if (writes) {
      this.#writes = true;
      if (!this.#isSettled) this.#plan = barrier(this.#plan, this.#scope);
    }
    const outer = this.#plan;
    if (columns === undefined)
      this.#plan = { op: 'Apply', outer, inner: plan, mode: { kind: 'unit' } };
    else {
      const slots = columns.map(({ slot }) => slot);
      this.#plan = {
        op: 'Apply',
        outer,
        inner: plan,
        mode: clause.isOptional ? { kind: 'optional', slots } : { kind: 'cross' },
        ...(writes && { isPerRow: true }),
      };
      this.#scope = withBindings(
        this.#scope,
        columns.map(({ name, slot, kind }) => [name, { slot, kind }] as const),
      );
    }
    this.#isSettled = false;
    if (writes) {
      this.#plan = barrier(this.#plan, this.#scope);
      this.#isSettled = true;
    }
  }

  /** What reads the graph before it is read to its end: the batches must not meet what those before them have written. */
  #inTransactions(clause: ClauseOf<'callSubquery'>, called: CompiledQuery, isLast: boolean): void {
    const { isOutermost } = this.#compiler;
    requireOutermost({ isOutermost, hasWritten: this.#writes });
    this.#writes = true;
    const input = readsNothing(this.#plan) ? this.#plan : barrier(this.#plan, this.#scope);
    const { plan, bindings } = batchedCall(this.#compiler, clause, { called, input });
    for (const [name, binding] of bindings) this.#define(name, binding, clause.at);
    this.#plan = isLast ? plan : barrier(plan, this.#scope);
    this.#isSettled = true;
  }

  /** What the sub-query sees: what is named before it, or by a WITH of plain variables that it begins with. */
  #imported({ imports, query, at }: ClauseOf<'callSubquery'>): Scope {
    if (imports === 'all') return this.#scope;
    const names =
      imports ??
      query.parts.flatMap(({ clauses: [first] }) =>
        first?.kind === 'with' ? importedBy(first, this.#scope) : [],
      );
    return withBindings(
      new Map(hiddenBindings(this.#scope)),
      names.map((name) => {
        const binding = this.#scope.get(name);
        if (binding !== undefined) return [name, binding] as const;
        throw this.#compiler.failure('UndefinedVariable', at, `variable '${name}' is not defined`);
      }),
    );
  }
}

/** A call that is the whole query, or of a procedure that gives nothing. */
function isLoneCall(clause: Clause, query: SingleQuery): boolean {
  return clause.kind === 'callProcedure' && (query.clauses.length === 1 || isVoid(clause.name));
}

/** One CREATE behind the other is one CREATE: hundreds of them are usual. */
function joined(clauses: readonly Clause[]): readonly Clause[] {
  const result: Clause[] = [];
  for (let at = 0; at < clauses.length; at += 1) {
    const clause = clauses[at] as Clause;
    if (clause.kind !== 'create') {
      result.push(clause);
      continue;
    }
    const paths = [...clause.paths];
    for (let next = clauses[at + 1]; next?.kind === 'create'; next = clauses[at + 1]) {
      paths.push(...next.paths);
      at += 1;
    }
    result.push({ ...clause, paths });
  }
  return result;
}

function importedBy(clause: ClauseOf<'with'>, scope: Scope): readonly string[] {
  const { items, isAll: hasStar } = clause.projection;
  if (hasStar) return [...scope.keys()];
  return items.flatMap(({ value }) =>
    value.kind === 'variable' && scope.has(value.name) ? [value.name] : [],
  );
}

const endings: ReadonlySet<Clause['kind']> = new Set<Clause['kind']>([
  'return',
  'finish',
  'create',
  'merge',
  'set',
  'remove',
  'delete',
  'foreach',
]);
