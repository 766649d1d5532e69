import { mapLong } from '#core/replayed-loops.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan, PlanNode } from '../../../algebra/plan.ts';
import { someLookedThrough } from '../../../algebra/look-through.ts';
import { expressionsOf, mapParts } from '../../../algebra/plan-walk.ts';
import { rewriteExpression } from '../../../algebra/walk.ts';
import { edgeTypesNamed } from '../../../functions/graph/edge-types.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** `out('Knows').size()` of each record of a scan is its degree: the neighbours are counted, not listed. */
export const sizeAsDegree: OptimizerRule = {
  name: 'size-as-degree',
  needs: ['Project', 'Aggregate'],
  why: "SELECT out('Knows').size() would make a list of all neighbours of each vertex",
  apply(plan, context) {
    if (plan.op !== 'Project' && plan.op !== 'Aggregate') return undefined;
    const scan = vertexScanUnder(plan.input, context);
    if (scan === undefined) return undefined;
    // Hardly a projection asks for one, and looking costs less than rewriting.
    if (!mapLong(expressionsOf(plan), holdsSize).includes(true)) return undefined;
    const degrees = new Degrees(scan.as, context);
    const rewritten = mapParts(plan, {
      plan: (input) => input,
      expression: (expression) =>
        rewriteExpression(expression, (part) => degrees.slotFor(part) ?? part),
    });
    if (degrees.isEmpty) return undefined;
    return mapParts(rewritten, {
      plan: (input) => degrees.over(input),
      expression: (expression) => expression,
    });
  },
};

function holdsSize(expression: Expression): boolean {
  return someLookedThrough(expression, isSize);
}

function isSize(part: Expression): boolean {
  return part.op === 'Call' && part.function.toLowerCase() === '.size';
}

function vertexScanUnder(
  plan: LogicalPlan,
  { catalog }: OptimizerContext,
): PlanNode<'TypeScan'> | undefined {
  let current = plan;
  while (current.op === 'Filter') current = current.input;
  if (current.op !== 'TypeScan') return undefined;
  return current.types.every((type) => catalog.typeWithId(type).kind === 'vertex')
    ? current
    : undefined;
}

type Direction = 'out' | 'in';
type Degree = Pick<PlanNode<'Degree'>, 'move' | 'as'>;

const directions: Readonly<Record<string, Direction>> = {
  out: 'out',
  oute: 'out',
  in: 'in',
  ine: 'in',
};

/** The degrees that a node asks for, each computed once below it. */
class Degrees {
  readonly #from: Slot;
  readonly #context: OptimizerContext;
  readonly #found = new Map<string, Degree>();

  constructor(from: Slot, context: OptimizerContext) {
    this.#from = from;
    this.#context = context;
  }

  get isEmpty(): boolean {
    return this.#found.size === 0;
  }

  /** The slot in the place of a size of neighbours; undefined for any other expression. */
  slotFor(expression: Expression): Expression | undefined {
    if (expression.op !== 'Call' || expression.function.toLowerCase() !== '.size') return undefined;
    const [list, ...others] = expression.arguments;
    if (list?.op !== 'Call' || others.length > 0) return undefined;
    const [from, ...names] = list.arguments;
    const direction = directions[list.function.toLowerCase().replace(/^\./, '')];
    if (direction === undefined || from?.op !== 'Slot' || from.slot !== this.#from)
      return undefined;
    const types = this.#typesNamed(names);
    return types && { op: 'Slot', slot: this.#degree(direction, types).as };
  }

  /** undefined unless all are names that the text gives. */
  #typesNamed(names: readonly Expression[]): readonly TypeId[] | undefined {
    const texts: string[] = [];
    for (const name of names) {
      if (name.op !== 'Constant' || typeof name.value !== 'string') return undefined;
      texts.push(name.value);
    }
    return edgeTypesNamed(texts, this.#context.catalog);
  }

  #degree(direction: Direction, types: readonly TypeId[]): Degree {
    const key = `${direction} ${types.join()}`;
    let degree = this.#found.get(key);
    if (degree === undefined) {
      degree = { move: { kind: 'vertex', direction, types }, as: this.#context.newSlot() };
      this.#found.set(key, degree);
    }
    return degree;
  }

  over(input: LogicalPlan): LogicalPlan {
    let plan = input;
    for (const degree of this.#found.values())
      plan = { op: 'Degree', input: plan, from: this.#from, ...degree };
    return plan;
  }
}
