import type { Catalog } from '#catalog/catalog.ts';
import { changesForLabels, typeOfLabels } from '#catalog/labels.ts';
import type { DatabaseError } from '#core/errors.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { SlotAllocator } from '#query/binder/slot-allocator.ts';
import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { MissingType } from '#query/algebra/missing-type.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { Expression as Expr, Query } from '../ast.ts';
import { closestWord } from '../../suggestion.ts';
import { compileError } from '../failures.ts';
import type { BindingKind, Scope } from './scope.ts';

/** A query as a plan: what it gives, column by column. */
export interface CompiledQuery {
  readonly plan: LogicalPlan;
  /** Undefined: it ends with an updating clause or FINISH. */
  readonly columns: readonly QueryColumn[] | undefined;
  readonly writes: boolean;
}

export interface QueryColumn {
  readonly name: string;
  readonly slot: Slot;
  readonly kind: BindingKind;
}

/** A name and its place in the text. */
export interface NamedAt {
  readonly name: string;
  readonly at: number;
}

/** In the place of some expressions: those that are computed already. */
export interface Substitution {
  /** @returns undefined when the expression is to be compiled as it stands */
  replace(expr: Expr, scope: Scope): Expression | undefined;
}

/** The parts that come back to each other. */
export interface CompilerParts {
  expression(compiler: Compiler, expr: Expr, scope: Scope, substitution?: Substitution): Expression;
  query(
    compiler: Compiler,
    query: Query,
    scopes: { readonly outer: Scope; readonly inner: Scope },
    mayEndOpen: boolean,
  ): CompiledQuery;
}

/** What stands in for a type that is yet to be made: the program is analyzed again when it is there. */
const noType = 0 as TypeId;

/** One statement being compiled. */
export class Compiler {
  readonly text: string;
  readonly catalog: Catalog;
  readonly slots: SlotAllocator;
  readonly missing: Map<string, MissingType>;
  readonly #parts: CompilerParts;
  #depth = 0;

  /** @param found `slots` counts from 0 again when the analysis begins anew, `missing` is kept */
  constructor(
    text: string,
    catalog: Catalog,
    found: { readonly slots: SlotAllocator; readonly missing: Map<string, MissingType> },
    parts: CompilerParts,
  ) {
    this.text = text;
    this.catalog = catalog;
    this.slots = found.slots;
    this.missing = found.missing;
    this.#parts = parts;
  }

  /** The query at hand is the statement itself. */
  get isOutermost(): boolean {
    return this.#depth === 1;
  }

  newSlot(): Slot {
    return this.slots.next();
  }

  expression(expr: Expr, scope: Scope, substitution?: Substitution): Expression {
    return this.#parts.expression(this, expr, scope, substitution);
  }

  /**
   * @param inner the variables that the query begins with; `outer` those whose names it may not give
   * @param mayEndOpen whether there are rows is all that is asked, so it need not return anything
   */
  query(query: Query, outer: Scope, inner: Scope, mayEndOpen = false): CompiledQuery {
    this.#depth += 1;
    const compiled = this.#parts.query(this, query, { outer, inner }, mayEndOpen);
    this.#depth -= 1;
    return compiled;
  }

  failure(detail: string, at: number, problem: string, type?: string): DatabaseError {
    return compileError({ text: this.text, at, detail, problem, ...(type && { type }) });
  }

  /** A name that nothing has, and the one that was probably meant. */
  unknown(detail: string, name: NamedAt, problem: string, known: Iterable<string>): DatabaseError {
    const suggestion = closestWord(name.name, known);
    return compileError({ text: this.text, at: name.at, detail, problem, suggestion });
  }

  /** The vertex type for a set of labels; a missing one is noted, and so are the types it inherits from. */
  vertexType(labels: readonly string[]): TypeId {
    const known = typeOfLabels(this.catalog, labels);
    if (known !== undefined) return known.id;
    for (const change of changesForLabels(this.catalog, labels))
      if (change.kind === 'create-type')
        this.missing.set(change.name, {
          name: change.name,
          kind: 'vertex',
          supertypes: change.supertypes,
        });
    return noType;
  }

  edgeType(name: string): TypeId {
    return this.#type(name, 'edge', []);
  }

  #type(name: string, kind: 'vertex' | 'edge', supertypes: readonly string[]): TypeId {
    const known = this.catalog.typeNamed(name);
    if (known !== undefined) return known.id;
    this.missing.set(name, { name, kind, supertypes });
    return noType;
  }
}
