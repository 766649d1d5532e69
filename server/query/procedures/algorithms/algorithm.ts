import { Path } from '#core/value/path.ts';
import { type StoredRecord, Link } from '#core/value/record.ts';
import { formatRid, type Rid } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value, type ValueMap } from '#core/value/value.ts';
import { isNumeric, toDouble } from '../../functions/arguments.ts';
import type { ExecutionContext } from '../../operators/operator.ts';
import { argumentFault, rowsOf } from '../define.ts';
import type { Procedure, ProcedureParameter } from '../procedure.ts';
import { type Adjacency, type GraphDirection, type GraphView, openGraph } from './graph-view.ts';
import { Work } from './work.ts';

/**
 * What `algo.*` have in common (cypher.md 11): arguments by name, from the places of the call or from its map, the graph that they
 * run over, and rows with nodes in them. An algorithm is a generator that pauses when `work` is spent.
 */

export type Rows = Generator<ValueMap | 'pause', void, undefined>;

export interface Algorithm {
  readonly name: string;
  readonly description: string;
  /** `name`, or `name?` for one that may be left out; a last `{}?` is a map of options. */
  readonly parameters: readonly string[];
  /** `name: type` */
  readonly columns: Readonly<Record<string, string>>;
  rows(run: Run): Rows;
}

const parameterTypes: Readonly<Record<string, string>> = {
  from: 'NODE',
  to: 'NODE',
  start: 'NODE',
  source: 'NODE',
  sink: 'NODE',
  root: 'NODE',
  node: 'NODE',
  node1: 'NODE',
  node2: 'NODE',
  nodes: 'LIST',
  config: 'MAP',
};

export function algorithm(definition: Algorithm): Procedure {
  const { description, columns } = definition;
  const parameters = definition.parameters.map((text): ProcedureParameter => {
    const name = text === '{}?' ? 'config' : text.replace('?', '');
    const type = parameterTypes[name] ?? 'ANY';
    return text.endsWith('?') ? { name, type, default: null } : { name, type };
  });
  const name = `algo.${definition.name}`;
  return {
    name,
    signature: {
      description,
      parameters,
      columns: Object.entries(columns).map(([column, type]) => ({ name: column, type })),
    },
    effects: [],
    start: (args, context) =>
      rowsOf(rowsOfRun(new Run(name, parameters, args, context), definition)),
  };
}

function* rowsOfRun(run: Run, definition: Algorithm): Rows {
  try {
    yield* run.open();
    yield* definition.rows(run);
  } finally {
    run.close();
  }
}

/** One call. */
export class Run {
  readonly context: ExecutionContext;
  readonly work = new Work();
  readonly #name: string;
  readonly #given = new Map<string, Value>();
  #graph: GraphView | undefined;
  #reserved = 0;

  constructor(
    name: string,
    parameters: readonly ProcedureParameter[],
    args: readonly Value[],
    context: ExecutionContext,
  ) {
    this.#name = name;
    this.context = context;
    for (const [at, { name: parameter }] of parameters.entries())
      this.#take(parameter, args[at] ?? null);
  }

  #take(name: string, value: Value): void {
    if (value === null) return;
    if (name !== 'config') {
      this.#given.set(name, value);
      return;
    }
    if (!isMap(value)) throw this.fault('its options must be a map');
    for (const [key, option] of value) if (option !== null) this.#given.set(key, option);
  }

  *open(): Generator<'pause', void, undefined> {
    this.#graph = yield* openGraph(this.context, this.names('relTypes'), (bytes) =>
      this.reserve(bytes),
    );
  }

  close(): void {
    if (this.#reserved > 0) this.context.memory.release(this.#reserved);
    this.#reserved = 0;
  }

  /** Of what the call holds until its end. @throws DatabaseError `TooLarge` */
  reserve(bytes: number): void {
    this.context.memory.reserve(bytes);
    this.#reserved += bytes;
  }

  get graph(): GraphView {
    return this.#graph as GraphView;
  }

  adjacency(direction: GraphDirection): Generator<'pause', Adjacency, undefined> {
    return this.graph.adjacency(direction);
  }

  fault(text: string): Error {
    return argumentFault(`${this.#name}: ${text}`);
  }

  value(name: string): Value {
    return this.#given.get(name) ?? null;
  }

  /** Names in a text, with commas or bars between, or in a list. */
  names(name: string): readonly string[] {
    const value = this.value(name);
    if (value === null) return [];
    if (typeof value === 'string')
      return value
        .split(/[,|]/)
        .map((part) => part.trim().replace(/^:/, ''))
        .filter((part) => part !== '');
    if (isList(value) && value.every((item) => typeof item === 'string')) return value as string[];
    throw this.fault(`'${name}' must be names in a text, with commas between, or a list of names`);
  }

  number(name: string, fallback: number): number {
    const value = this.value(name);
    if (value === null) return fallback;
    if (isNumeric(value)) {
      const number = toDouble(value);
      if (Number.isFinite(number)) return number;
    }
    throw this.fault(`'${name}' must be a number`);
  }

  count(name: string, fallback: number, { min = 0, max = 1_000_000 } = {}): number {
    const number = this.number(name, fallback);
    if (Number.isInteger(number) && number >= min && number <= max) return number;
    throw this.fault(`'${name}' must be an integer from ${min} to ${max}`);
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.value(name) ?? fallback;
    if (typeof value === 'boolean') return value;
    throw this.fault(`'${name}' must be true or false`);
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === null) return undefined;
    if (typeof value === 'string') return value === '' ? undefined : value;
    throw this.fault(`'${name}' must be a text`);
  }

  direction(fallback: GraphDirection = 'BOTH'): GraphDirection {
    const text = (this.text('direction') ?? fallback).toUpperCase();
    if (text === 'OUT' || text === 'OUTGOING') return 'OUT';
    if (text === 'IN' || text === 'INCOMING') return 'IN';
    if (text === 'BOTH') return 'BOTH';
    throw this.fault(`'direction' must be OUT, IN or BOTH, not '${text}'`);
  }

  /** The number of the node of an argument. */
  node(name: string): number {
    return this.nodeNumber(this.value(name), name);
  }

  nodeNumber(value: Value, name: string): number {
    const isNode = value !== null && isRecord(value) && value.kind === 'vertex';
    const number = isNode ? this.graph.numberOf(value.rid) : -1;
    if (number < 0) throw this.fault(`'${name}' must be a node`);
    return number;
  }

  /** Weights by number of the edge: 1 where the property is not there, or none is named. */
  *weights(property: string | undefined): Generator<'pause', Float64Array, undefined> {
    const { edgeCount } = this.graph;
    this.reserve(edgeCount * 8);
    const weights = new Float64Array(edgeCount).fill(1);
    if (property === undefined) return weights;
    for (let edge = 0; edge < edgeCount; edge += 1) {
      if (this.work.isSpent(64)) yield 'pause';
      const value = this.context.view.record(this.graph.edgeRidOf(edge))?.get(property) ?? null;
      if (value === null) continue;
      if (!isNumeric(value)) throw this.fault(`the weight '${property}' must be a number`);
      weights[edge] = toDouble(value);
    }
    return weights;
  }

  *positiveWeights(property: string | undefined): Generator<'pause', Float64Array, undefined> {
    const weights = yield* this.weights(property);
    for (let edge = 0; edge < weights.length; edge += 1) {
      if (this.work.isSpent(1)) yield 'pause';
      if (!((weights[edge] as number) >= 0))
        throw this.fault(`the weight '${property}' must not be negative`);
    }
    return weights;
  }

  /** The node of a number, as a value. */
  nodeAt(number: number): Value {
    return this.#recordOf(this.graph.ridOf(number));
  }

  idAt(number: number): string {
    return formatRid(this.graph.ridOf(number));
  }

  #recordOf(rid: Rid): StoredRecord | null {
    return this.context.view.record(rid) ?? null;
  }

  pathOf(nodes: readonly number[], edges: readonly number[]): Value {
    const element = (rid: Rid): StoredRecord | Link => this.#recordOf(rid) ?? new Link(rid);
    return new Path(
      nodes.map((node) => element(this.graph.ridOf(node))),
      edges.map((edge) => element(this.graph.edgeRidOf(edge))),
    );
  }
}
