import type { Effect } from '#core/effects.ts';
import type { Access } from '#core/principal.ts';
import { accessesOf, effectsOf, type WritingNames } from '#query/algebra/effects.ts';
import { rewritePlan, walkPlan } from '#query/algebra/plan-walk.ts';
import type { LogicalPlan, PlanOp, QueryProgram } from '#query/algebra/plan.ts';
import { slotsOf } from '#query/algebra/slots.ts';
import { callsUserFunction } from '#query/functions/user-function.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { BodyLanguage } from './body-program.ts';

/** What running something may do. */
export interface Doings {
  readonly effects: ReadonlySet<Effect>;
  readonly accesses: readonly Access[];
}

/** A body to its program. */
type BodyAnalysis = (body: string, view: ReadView, language: BodyLanguage) => QueryProgram;

/** What one body does by itself, and what it calls. */
interface OwnDoings extends Doings {
  readonly catalogVersion: number;
  readonly calls: ReadonlySet<string>;
}

/**
 * What the functions that a program calls may do, through the bodies of those that they call in turn (house decision 47). What is
 * found out is kept until the schema changes.
 */
export class CalledFunctions {
  readonly #analyze: BodyAnalysis;
  readonly #writing: WritingNames;
  readonly #known = new Map<string, OwnDoings>();

  /** @param analyze a body to the program that runs it */
  constructor(analyze: BodyAnalysis, writing: WritingNames) {
    this.#analyze = analyze;
    this.#writing = writing;
  }

  /**
   * undefined when the plan calls none.
   * @throws DatabaseError as the analysis of a body
   */
  doingsOf(plan: LogicalPlan, view: ReadView): Doings | undefined {
    if (view.catalog.definitions.parts.functions.length === 0) return undefined;
    const named = functionsIn(plan);
    return named.size === 0 ? undefined : this.doingsNamed(named, view);
  }

  /** Of functions by their full names; names of no function are passed over. */
  doingsNamed(names: Iterable<string>, view: ReadView): Doings {
    const effects = new Set<Effect>();
    const accesses: Access[] = [];
    const seen = new Set<string>();
    const waiting = [...names];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (seen.has(name)) continue;
      seen.add(name);
      const own = this.#own(name, view);
      if (own === undefined) continue;
      for (const effect of own.effects) effects.add(effect);
      accesses.push(...own.accesses);
      waiting.push(...own.calls);
    }
    return { effects, accesses };
  }

  #own(name: string, view: ReadView): OwnDoings | undefined {
    const { catalog } = view;
    const known = this.#known.get(name);
    if (known?.catalogVersion === catalog.version) return known;
    this.#known.delete(name);
    const defined = catalog.definitions.functionNamed(name);
    if (defined === undefined) return undefined;
    // A script computes from its arguments alone.
    if (defined.language === 'js') return pure;
    const program = this.#analyze(defined.body, view, defined.language);
    const own: OwnDoings = {
      effects: effectsOf(program, this.#writing),
      accesses: accessesOf(program, catalog),
      catalogVersion: catalog.version,
      calls: functionsIn(program.plan),
    };
    this.#known.set(name, own);
    return own;
  }
}

const pure: OwnDoings = {
  effects: new Set(),
  accesses: [],
  catalogVersion: -1,
  calls: new Set(),
};

function functionsIn(plan: LogicalPlan): ReadonlySet<string> {
  const names = new Set<string>();
  walkPlan(plan, {
    expression(part) {
      if (part.op !== 'Call' || !callsUserFunction(part.function)) return;
      const [name] = part.arguments;
      if (name?.op === 'Constant' && typeof name.value === 'string') names.add(name.value);
    },
  });
  return names;
}

const sources: ReadonlySet<PlanOp> = new Set<PlanOp>([
  'TypeScan',
  'BucketScan',
  'RecordLookup',
  'DynamicSource',
  'IndexEntries',
]);

/**
 * The plan with its sources read to their end first: a function that writes would otherwise see, and go through, what it has just
 * written.
 */
export function withEagerSources(plan: LogicalPlan): LogicalPlan {
  return rewritePlan(plan, (node) =>
    sources.has(node.op) || node.op === 'Match'
      ? { op: 'Eager', input: node, slots: [...slotsOf(node)] }
      : node,
  );
}
