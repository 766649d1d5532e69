import type { Value } from '#core/value/value.ts';
import type { ActualPrinter } from './actual.ts';
import type { Scenario, Step } from './gherkin.ts';
import { parseExpected, parseValue, printExpected } from './notation.ts';
import { countProblem, type GraphState, sideEffects } from './side-effects.ts';

/** A procedure that a scenario brings along: arguments looked up in a table. */
export interface TableProcedure {
  readonly name: string;
  readonly inputs: readonly { readonly name: string; readonly type: string }[];
  readonly outputs: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly Value[])[];
}

/** What a statement says that it wrote (cypher.md 15). */
export interface WriteCounts {
  readonly nodesCreated: number;
  readonly nodesDeleted: number;
  readonly relationshipsCreated: number;
  readonly relationshipsDeleted: number;
  readonly propertiesSet: number;
  readonly labelsAdded: number;
  readonly labelsRemoved: number;
}

export interface QueryRows {
  /** Undefined where the server does not tell them. */
  readonly columns: readonly string[] | undefined;
  readonly rows: readonly (readonly Value[])[];
  /** Undefined when it wrote nothing. */
  readonly counts: WriteCounts | undefined;
}

export interface QueryFailure {
  /** Undefined where the server does not tell it. */
  readonly type: string | undefined;
  readonly phase: string;
  readonly detail: string;
  readonly message: string;
}

export type QueryOutcome = QueryRows | QueryFailure;

/** The server under test. */
export interface ConformanceEngine {
  /** An empty graph, without the procedures of the scenario before. */
  clear(): Promise<void>;
  register(procedure: TableProcedure): void;
  query(text: string, parameters: ReadonlyMap<string, Value>): Promise<QueryOutcome>;
  state(): Promise<GraphState>;
  namedGraph(name: string): string;
  readonly printer: ActualPrinter;
  /** A value of a row in the canonical text. */
  print(value: Value, printer: ActualPrinter): string;
}

class Mismatch extends Error {}

/** @returns what is wrong, or undefined */
export async function runScenario(
  scenario: Scenario,
  engine: ConformanceEngine,
): Promise<string | undefined> {
  const run = new ScenarioRun(engine);
  try {
    await engine.clear();
    for (const step of scenario.steps) await run.step(step);
    await run.finish();
    return undefined;
  } catch (error) {
    if (error instanceof Mismatch) return error.message;
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

class ScenarioRun {
  readonly #engine: ConformanceEngine;
  #parameters: ReadonlyMap<string, Value> = new Map();
  #outcome: QueryOutcome | undefined;
  #wasExpected = true;
  #before: GraphState | undefined;
  #after: GraphState | undefined;

  constructor(engine: ConformanceEngine) {
    this.#engine = engine;
  }

  async step({ text, doc, table }: Step): Promise<void> {
    if (text === 'an empty graph' || text === 'any graph') return;
    const graph = /^the (\S+) graph$/.exec(text)?.[1];
    if (graph !== undefined) return this.#prepare(this.#engine.namedGraph(graph));
    if (text === 'having executed:') return this.#prepare(doc ?? '');
    if (text === 'parameters are:') {
      this.#parameters = new Map(
        table.map(([name, value]) => [name as string, parseValue(value as string)]),
      );
      return;
    }
    if (text.startsWith('there exists a procedure '))
      return this.#engine.register(procedureOf(text, table));
    if (text === 'executing query:' || text === 'executing control query:')
      return this.#execute(doc ?? '');
    await this.#check(text, table);
  }

  /** A failure that nobody asked about is one of the scenario. */
  async finish(): Promise<void> {
    if (!this.#wasExpected) this.#rows();
  }

  async #prepare(text: string): Promise<void> {
    const outcome = await this.#engine.query(text, new Map());
    if ('message' in outcome) throw new Mismatch(`preparation failed: ${outcome.message}`);
  }

  async #execute(text: string): Promise<void> {
    await this.finish();
    this.#before = await this.#engine.state();
    this.#outcome = await this.#engine.query(text, this.#parameters);
    this.#after = await this.#engine.state();
    this.#wasExpected = false;
  }

  async #check(text: string, table: Step['table']): Promise<void> {
    const raised = /^an? (\w+) should be raised at (any time|compile time|runtime): (.+)$/.exec(
      text,
    );
    if (raised !== null) return this.#checkFailure(raised);
    if (text === 'the result should be empty') {
      const { rows } = this.#rows();
      if (rows.length > 0) throw new Mismatch(`expected no rows, got ${rows.length}`);
      return;
    }
    if (text === 'no side effects') return this.#checkEffects([]);
    if (text === 'the side effects should be:') return this.#checkEffects(table);
    const result =
      /^the result should be(?:, in (any order|order))?\s*(\(ignoring element order for lists\))?:?$/.exec(
        text,
      );
    if (result === null) throw new Mismatch(`unknown step: ${text}`);
    this.#checkRows(table, result[1] === 'order', result[2] !== undefined);
  }

  #rows(): QueryRows {
    this.#wasExpected = true;
    const outcome = this.#outcome;
    if (outcome === undefined) throw new Mismatch('nothing was executed');
    if ('message' in outcome) throw new Mismatch(`failed: ${outcome.message}`);
    return outcome;
  }

  #checkFailure([, type, phase, detail]: readonly string[]): void {
    this.#wasExpected = true;
    const outcome = this.#outcome;
    if (outcome === undefined || !('message' in outcome))
      throw new Mismatch(`expected ${type} at ${phase}: ${detail}, but there was none`);
    const given = `${outcome.type} at ${outcome.phase}: ${outcome.detail}`;
    const isSame =
      (outcome.type === undefined || outcome.type === type) &&
      (phase === 'any time' || outcome.phase === phase) &&
      (detail === '*' || outcome.detail === detail);
    if (!isSame)
      throw new Mismatch(
        `expected ${type} at ${phase}: ${detail}, got ${given} (${outcome.message})`,
      );
  }

  #checkEffects(table: Step['table']): void {
    const { counts } = this.#rows();
    const before = this.#before as GraphState;
    const after = this.#after as GraphState;
    const given = sideEffects(before, after);
    const problem = countProblem(counts, before, after);
    if (problem !== undefined) throw new Mismatch(problem);
    const expected = new Map<string, number>();
    for (const [kind, count] of table)
      if (Number(count) !== 0) expected.set(kind as string, Number(count));
    const text = (effects: ReadonlyMap<string, number>) =>
      [...effects]
        .map(([kind, count]) => `${kind} ${count}`)
        .sort()
        .join(', ') || 'none';
    if (text(given) !== text(expected))
      throw new Mismatch(`expected side effects ${text(expected)}, got ${text(given)}`);
  }

  #checkRows(table: Step['table'], isOrdered: boolean, ignoresListOrder: boolean): void {
    const { columns, rows } = this.#rows();
    const [header = [], ...expectedRows] = table;
    if (columns !== undefined && header.join(' | ') !== columns.join(' | '))
      throw new Mismatch(`expected columns ${header.join(' | ')}, got ${columns.join(' | ')}`);
    const printer = { ...this.#engine.printer, ignoresListOrder };
    const expected = expectedRows.map((cells) =>
      cells.map((cell) => printExpected(parseExpected(cell), printer)).join(' | '),
    );
    const given = rows.map((row) =>
      row.map((value) => this.#engine.print(value, printer)).join(' | '),
    );
    if (!isOrdered) {
      expected.sort();
      given.sort();
    }
    if (expected.join('\n') !== given.join('\n'))
      throw new Mismatch(`expected rows\n  ${expected.join('\n  ')}\ngot\n  ${given.join('\n  ')}`);
  }
}

/** `there exists a procedure NAME(a :: T?, ...) :: (b :: T?, ...):` with its table. */
function procedureOf(text: string, table: Step['table']): TableProcedure {
  const parts = /^there exists a procedure ([\w.]+)\((.*?)\) :: (?:\((.*)\)|VOID)\s*:?$/.exec(text);
  if (parts === null) throw new Mismatch(`unknown step: ${text}`);
  const fields = (list: string) =>
    list
      .split(',')
      .filter((field) => field.trim() !== '')
      .map((field) => {
        const [name = '', type = ''] = field.split('::');
        return { name: name.trim(), type: type.trim() };
      });
  return {
    name: parts[1] as string,
    inputs: fields(parts[2] as string),
    outputs: fields(parts[3] ?? ''),
    rows: table.slice(1).map((cells) => cells.map(parseValue)),
  };
}
