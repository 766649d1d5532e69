import { unreachable } from '#core/assert.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Catalog } from '#catalog/catalog.ts';
import type { InTransactions, Output, Slot } from './expression.ts';
import { inputsOf } from './plan-walk.ts';
import type {
  ApplyMode,
  Assignment,
  Branch,
  Column,
  IndexBounds,
  LogicalPlan,
  Move,
  PathSpec,
  Pattern,
  PlanNode,
  RidRange,
} from './plan.ts';
import { numberedSlots, printExpression, type SlotNames } from './print-expression.ts';

export interface PrintOptions {
  /** Gives names to types, buckets and indexes; without it they are numbers. */
  readonly catalog?: Catalog;
  readonly slotNames?: SlotNames;
}

/**
 * The plan as an indented tree, one node per line, the root first, for golden files and for people.
 *
 *     Filter s0.age > 5
 *     └─ TypeScan Person → s0
 */
export function printPlan(plan: LogicalPlan, options: PrintOptions = {}): string {
  const lines: string[] = [];
  appendTree(lines, plan, '', '', new NodePrinter(options));
  return lines.join('\n');
}

/** The line of one node, without its inputs. */
export function describeNode(plan: LogicalPlan, options: PrintOptions = {}): string {
  return new NodePrinter(options).line(plan);
}

function appendTree(
  lines: string[],
  plan: LogicalPlan,
  head: string,
  tail: string,
  printer: NodePrinter,
): void {
  lines.push(head + printer.line(plan));
  const inputs = inputsOf(plan).filter((input) => input.op !== 'Argument');
  inputs.forEach((input, at) => {
    const isLast = at === inputs.length - 1;
    appendTree(
      lines,
      input,
      `${tail}${isLast ? '└─ ' : '├─ '}`,
      `${tail}${isLast ? '   ' : '│  '}`,
      printer,
    );
  });
}

class NodePrinter {
  readonly #catalog: Catalog | undefined;
  readonly #slot: SlotNames;

  constructor(options: PrintOptions) {
    this.#catalog = options.catalog;
    this.#slot = options.slotNames ?? numberedSlots;
  }

  line(plan: LogicalPlan): string {
    const text = this.#details(plan);
    return text === '' ? plan.op : `${plan.op} ${text}`;
  }

  #details(plan: LogicalPlan): string {
    switch (plan.op) {
      case 'Argument':
        return '';
      case 'TypeScan':
        return `${this.#types(plan.types)}${ridOrder(plan)}${this.#range(plan.range)} → ${this.#slot(plan.as)}${this.#passedOver(plan)}`;
      case 'BucketScan':
        return `${plan.buckets.map((id) => this.#catalog?.bucketWithId(id)?.name ?? id).join('|')}${ridOrder(plan)}${this.#range(plan.range)} → ${this.#slot(plan.as)}`;
      case 'RecordLookup':
        return `${printExpression(plan.rids, this.#slot)}${plan.types ? ` of ${this.#types(plan.types)}` : ''} → ${this.#slot(plan.as)}`;
      case 'DynamicSource':
        return `${printExpression(plan.value, this.#slot)} → ${this.#slot(plan.as)}`;
      case 'IndexSearch':
        return `${this.#index(plan.index)} ${this.#bounds(plan.bounds)}${plan.order ? ` ${plan.order}` : ''} → ${this.#slot(plan.as)}`;
      case 'IndexUnion': {
        const searches = plan.searches.map(
          (search) => `${this.#index(search.index)} ${this.#bounds(search.bounds)}`,
        );
        return `${searches.join(' | ')} → ${this.#slot(plan.as)}`;
      }
      case 'RecordCount':
        return `${plan.buckets ? plan.buckets.join('|') : this.#types(plan.types)} → ${this.#slot(plan.as)}`;
      case 'IndexEntries':
        return `${this.#index(plan.index)} ${plan.bounds ? `${this.#bounds(plan.bounds)} ` : ''}${plan.order} → ${this.#slot(plan.as)}`;
      case 'SchemaScan':
        return `${plan.kind}${plan.name === undefined ? '' : `:${plan.name}`} → ${this.#slot(plan.as)}`;
      case 'Filter':
        return printExpression(plan.predicate, this.#slot);
      case 'Project':
        return this.#columns(plan.columns);
      case 'Unwind':
        return `${printExpression(plan.list, this.#slot)}${plan.keepEmpty ? ' keeping empty' : ''} → ${this.#slot(plan.as)}`;
      case 'ExpandValue':
        return `${printExpression(plan.value, this.#slot)} → ${this.#slot(plan.as)}`;
      case 'Distinct':
        return plan.on.map((on) => printExpression(on, this.#slot)).join(', ');
      case 'Sort': {
        const keys = plan.keys.map((key) => {
          const direction =
            typeof key.descending === 'boolean'
              ? key.descending
                ? ' desc'
                : ''
              : ` by ${printExpression(key.descending, this.#slot)}`;
          return printExpression(key.value, this.#slot) + direction;
        });
        const top = plan.limit ? ` top ${printExpression(plan.limit, this.#slot)}` : '';
        return keys.join(', ') + top;
      }
      case 'Skip':
      case 'Limit':
        return printExpression(plan.count, this.#slot);
      case 'Aggregate':
        return this.#aggregate(plan);
      case 'Union':
        return `→ ${this.#slots(plan.as)}`;
      default:
        return this.#graphOrWrite(plan);
    }
  }

  #branches(branches: readonly Branch[]): string {
    const texts = branches.map((branch) => {
      const types = branch.toTypes ? ` of ${this.#types(branch.toTypes)}` : '';
      const inner = branch.branches.length === 0 ? '' : ` ${this.#branches(branch.branches)}`;
      return `${branch.isOptional ? 'optional ' : ''}${this.#move(branch.move)}${types}${inner}`;
    });
    return texts.length === 1 ? (texts[0] as string) : `{${texts.join(', ')}}`;
  }

  #graphOrWrite(plan: Exclude<LogicalPlan, { readonly op: ShapingOp }>): string {
    switch (plan.op) {
      case 'TimeLimit':
        return `${plan.timeoutMs} ms, then ${plan.onTimeout}`;
      case 'Drain':
        return '';
      case 'InsertAll':
        return `${plan.steps.length} steps`;
      case 'Merge':
        return `→ ${this.#slots(plan.as)}`;
      case 'Eager':
        return this.#slots(plan.slots);
      case 'Apply':
        return `${this.#mode(plan.mode)}${this.#inTransactions(plan.transactions)}${plan.equality ? ` on ${printExpression(plan.equality.outer, this.#slot)} = ${printExpression(plan.equality.inner, this.#slot)}` : ''}`;
      case 'Match':
        return this.#pattern(plan.pattern);
      case 'Expand': {
        const edge = plan.edge === undefined ? '' : ` edge ${this.#slot(plan.edge)}`;
        const types = plan.toTypes ? ` of ${this.#types(plan.toTypes)}` : '';
        return `${this.#slot(plan.from)} ${this.#move(plan.move)} ${plan.into ? 'into' : '→'} ${this.#slot(plan.to)}${types}${edge}`;
      }
      case 'FollowEdges':
        return `${this.#slot(plan.edges)} ${plan.direction}: ${this.#slot(plan.from)} → ${this.#slot(plan.to)}`;
      case 'Degree':
        return `${this.#slot(plan.from)} ${this.#move(plan.move)} → ${this.#slot(plan.as)}`;
      case 'BranchCount':
        return `${this.#slot(plan.from)} ${this.#branches(plan.branches)} → ${this.#slot(plan.as)}`;
      case 'ExpandPath':
        return `${this.#slot(plan.from)} ${this.#path(plan.path)} ${plan.into ? 'into' : '→'} ${this.#slot(plan.to)}`;
      case 'Traverse': {
        const fields =
          plan.fields === 'all'
            ? '*'
            : plan.fields.map((field) => printExpression(field, this.#slot)).join(', ');
        const depth = plan.maxDepth === undefined ? '' : ` to depth ${plan.maxDepth}`;
        const condition = plan.condition
          ? ` while ${printExpression(plan.condition, this.#slot)}`
          : '';
        return `${fields} from ${printExpression(plan.roots, this.#slot)} ${plan.strategy}${depth}${condition} → ${this.#slot(plan.as)}`;
      }
      case 'Insert':
        return `${this.#types([plan.type])} ${this.#assignments(plan.assignments)} → ${this.#slot(plan.as)}`;
      case 'InsertEdge': {
        const ends = `${printExpression(plan.from, this.#slot)} → ${printExpression(plan.to, this.#slot)}`;
        return `${this.#types([plan.type])} ${ends}${plan.ifNotExists ? ' if not exists' : ''} ${this.#assignments(plan.assignments)} → ${this.#slot(plan.as)}`;
      }
      case 'Update':
        return `${this.#slot(plan.record)} ${this.#assignments(plan.assignments)}`;
      case 'Delete':
        return `${this.#slot(plan.record)}${plan.detach ? '' : ' without edges'}`;
      case 'FindOrInsert':
        return `${this.#types([plan.type])} ${this.#assignments(plan.initial)} → ${this.#slot(plan.as)}`;
      case 'MoveVertex':
        return `${this.#slot(plan.record)} to ${this.#types([plan.type])} ${this.#assignments(plan.assignments)} → ${this.#slot(plan.as)}`;
      case 'SetLabels':
        return `${this.#slot(plan.record)} ${plan.mode} ${plan.labels.map((label) => `:${label}`).join('')}`;
      case 'RestoreRecord':
        return `${this.#types([plan.type])} ${printExpression(plan.rid, this.#slot)} ${this.#assignments(plan.assignments)} → ${this.#slot(plan.as)}`;
      case 'Profile':
        return this.#slot(plan.as);
      case 'CommitEvery':
        return `${printExpression(plan.count, this.#slot)} rows`;
      case 'FindReferences':
        return `to ${printExpression(plan.targets, this.#slot)} → ${this.#slots([plan.target, plan.referrer, plan.fields])}`;
      case 'Maintain':
        return `${plan.work.kind} → ${this.#slot(plan.as)}`;
      case 'Alter':
        return `${plan.change.kind} → ${this.#slot(plan.as)}`;
      case 'Call':
        return `${plan.procedure}(${plan.arguments.map((part) => printExpression(part, this.#slot)).join(', ')}) → ${plan.yields.map((part) => `${part.name}:${this.#slot(part.slot)}`).join(', ')}`;
      default:
        return unreachable(plan);
    }
  }

  #types(types: readonly TypeId[]): string {
    const names = types.map((type) => this.#catalog?.typeWithId(type).name ?? String(type));
    return names.length === 0 ? 'nothing' : names.join('|');
  }

  #passedOver({ passedOver }: PlanNode<'TypeScan'>): string {
    if (passedOver === undefined) return '';
    const percent = Math.min(100, Math.round(passedOver.share * 100));
    return ` instead of index ${this.#index(passedOver.index)}, which would find ${percent} % of them`;
  }

  #index(index: Parameters<Catalog['indexWithId']>[0]): string {
    return this.#catalog?.indexWithId(index).name ?? `index ${index}`;
  }

  #slots(slots: readonly Slot[]): string {
    return slots.map((slot) => this.#slot(slot)).join(', ');
  }

  #columns(columns: readonly Column[]): string {
    return columns
      .map((column) => `${printExpression(column.value, this.#slot)} → ${this.#slot(column.slot)}`)
      .join(', ');
  }

  #aggregate(plan: Extract<LogicalPlan, { readonly op: 'Aggregate' }>): string {
    const aggregates = plan.aggregates.map((aggregate) => {
      const distinct = aggregate.distinct ? 'distinct ' : '';
      const args = aggregate.arguments.map((part) => printExpression(part, this.#slot)).join(', ');
      return `${aggregate.function}(${distinct}${args}) → ${this.#slot(aggregate.slot)}`;
    });
    const first = plan.first.length > 0 ? [`first ${this.#columns(plan.first)}`] : [];
    const keys = plan.keys.length > 0 ? [`by ${this.#columns(plan.keys)}`] : [];
    const limit = plan.limit ? [`at most ${printExpression(plan.limit, this.#slot)}`] : [];
    return [...aggregates, ...first, ...keys, ...limit].join('; ');
  }

  #bounds(bounds: IndexBounds): string {
    const parts = bounds.equals.map((part) =>
      part.kind === 'null'
        ? 'is null'
        : `${part.kind === 'in' ? 'in' : '='} ${printExpression(part.value, this.#slot)}`,
    );
    if (bounds.low)
      parts.push(
        `${bounds.low.inclusive ? '>=' : '>'} ${printExpression(bounds.low.value, this.#slot)}`,
      );
    if (bounds.high)
      parts.push(
        `${bounds.high.inclusive ? '<=' : '<'} ${printExpression(bounds.high.value, this.#slot)}`,
      );
    if (bounds.prefix)
      parts.push(
        `${bounds.prefixIsPattern ? 'starts like' : 'starts with'} ${printExpression(bounds.prefix, this.#slot)}`,
      );
    return parts.length === 0 ? 'all' : parts.join(', ');
  }

  #range(range: RidRange | undefined): string {
    if (!range) return '';
    const low = range.low
      ? ` ${range.low.inclusive ? '>=' : '>'} ${printExpression(range.low.value, this.#slot)}`
      : '';
    const high = range.high
      ? ` ${range.high.inclusive ? '<=' : '<'} ${printExpression(range.high.value, this.#slot)}`
      : '';
    return ` @rid${low}${high}`;
  }

  #inTransactions(transactions: InTransactions | undefined): string {
    if (transactions === undefined) return '';
    const { count, onError } = transactions;
    return ` in transactions of ${printExpression(count, this.#slot)}, on error ${onError.toLowerCase()}`;
  }

  #mode(mode: ApplyMode): string {
    switch (mode.kind) {
      case 'optional':
        return `optional ${this.#slots(mode.slots)}`;
      case 'collect':
        return `collect ${this.#output(mode.output)} → ${this.#slot(mode.as)}`;
      case 'exists':
      case 'count':
        return `${mode.kind} → ${this.#slot(mode.as)}`;
      default:
        return mode.kind;
    }
  }

  #output(output: Output): string {
    return output.kind === 'value'
      ? this.#slot(output.slot)
      : output.columns.map((column) => `${column.name}:${this.#slot(column.slot)}`).join(', ');
  }

  #move(move: Move): string {
    if (move.kind === 'link') return `.${move.property}`;
    const suffix = move.kind === 'vertex' ? '' : move.kind === 'edge' ? 'E' : 'V';
    const types = 'types' in move && move.types ? this.#types(move.types) : '';
    return `${move.direction}${suffix}(${types})`;
  }

  #path(path: PathSpec): string {
    const moves = path.moves
      .map((move) => (move.path ? `(${this.#path(move.path)})` : this.#move(move.move)))
      .join('.');
    const parts = [`${moves}*${path.min}..${path.max ?? ''}`];
    if (path.condition) parts.push(`while ${printExpression(path.condition, this.#slot)}`);
    if (path.predicate) parts.push(`where ${printExpression(path.predicate, this.#slot)}`);
    return parts.join(' ');
  }

  #pattern(pattern: Pattern): string {
    const nodes = pattern.nodes.map((node) => {
      const types = node.types ? `:${this.#types(node.types)}` : '';
      const where = node.predicates.map((part) => printExpression(part, this.#slot)).join(' AND ');
      return `{${this.#slot(node.slot)}${types}${where === '' ? '' : ` ${where}`}${node.bound ? ' bound' : ''}}`;
    });
    const steps = pattern.steps.map((step) => {
      const how = step.path ? this.#path(step.path) : this.#move(step.move);
      return `${this.#slot(step.from)} ${how} ${this.#slot(step.to)}${step.optional ? ' optional' : ''}`;
    });
    return [...nodes, ...steps].join(', ');
  }

  #assignments(assignments: readonly Assignment[]): string {
    const parts = assignments.map((assignment) => {
      if (assignment.kind === 'merge' || assignment.kind === 'content')
        return `${assignment.kind} ${printExpression(assignment.value, this.#slot)}`;
      if (assignment.kind === 'entry')
        return `[${printExpression(assignment.key, this.#slot)}] = ${printExpression(assignment.value, this.#slot)}`;
      const path = assignment.path.map((element) =>
        element.kind === 'property'
          ? `.${element.name}`
          : `[${printExpression(element.key, this.#slot)}]`,
      );
      const place = assignment.property + path.join('');
      if (assignment.kind === 'set')
        return `${place} ${assignment.operator} ${printExpression(assignment.value, this.#slot)}`;
      const value = assignment.value ? ` = ${printExpression(assignment.value, this.#slot)}` : '';
      return `remove ${place}${value}`;
    });
    return `{${parts.join(', ')}}`;
  }
}

type ShapingOp =
  | 'Argument'
  | 'TypeScan'
  | 'BucketScan'
  | 'RecordLookup'
  | 'DynamicSource'
  | 'IndexSearch'
  | 'IndexUnion'
  | 'RecordCount'
  | 'IndexEntries'
  | 'SchemaScan'
  | 'Filter'
  | 'Project'
  | 'Unwind'
  | 'ExpandValue'
  | 'Distinct'
  | 'Sort'
  | 'Skip'
  | 'Limit'
  | 'Aggregate'
  | 'Union';

/** A range says by itself that record ids ascend. */
function ridOrder({ order, range }: PlanNode<'TypeScan' | 'BucketScan'>): string {
  return order === undefined || (range && order === 'ascending') ? '' : ` ${order}`;
}
