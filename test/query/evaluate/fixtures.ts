import type { Value } from '#core/value/value.ts';
import { EmbeddedDocument } from '#core/value/value.ts';
import { Link } from '#core/value/record.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import { makeRid, noRid } from '#core/value/rid.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import type { CompareOperator, Expression, Slot } from '#query/algebra/expression.ts';
import type { ArithmeticOperator, ContainsKind } from '#query/algebra/expression.ts';
import { compileExpression } from '#query/evaluate/compile.ts';
import type { EvaluationContext, Frame } from '#query/evaluate/context.ts';
import type { CompileEnvironment } from '#query/evaluate/evaluator.ts';
import type { FunctionRegistry, ScalarFunction } from '#query/evaluate/function-definition.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

/** A record of properties, for tests without storage. */
export function record(
  rid: Rid,
  properties: Readonly<Record<string, Value>>,
  options: {
    readonly kind?: RecordKind;
    readonly typeName?: string;
    readonly out?: Rid;
    readonly in?: Rid;
  } = {},
): StoredRecord {
  const map = new Map(Object.entries(properties));
  return {
    valueKind: 'record',
    kind: options.kind ?? 'document',
    rid,
    type: 1 as TypeId,
    typeName: options.typeName ?? 'Person',
    version: 7 as LogIndex,
    out: options.out ?? noRid,
    in: options.in ?? noRid,
    get: (name) => map.get(name),
    propertyNames: () => [...map.keys()],
  };
}

export const ada = record(makeRid(1, 0), { name: 'Ada', age: 36, tags: ['x', 'y'], nothing: null });
export const bob = record(makeRid(1, 1), {
  name: 'Bob',
  friend: new Link(ada.rid),
  friends: [new Link(ada.rid), new Link(makeRid(1, 99))],
  address: new EmbeddedDocument('Address', new Map<string, Value>([['city', 'Rome']])),
});
const records = new Map<Rid, StoredRecord>([
  [ada.rid, ada],
  [bob.rid, bob],
]);

const view = { record: (rid: Rid) => records.get(rid) } as unknown as ReadView;

export interface ContextOptions {
  readonly frame?: Frame;
  readonly parameters?: Readonly<Record<string, Value>>;
  readonly variables?: Readonly<Record<string, Value>>;
  readonly valueBytesMax?: number;
  readonly elementCountMax?: number;
}

export function context(options: ContextOptions = {}): EvaluationContext {
  const variables = new Map(Object.entries(options.variables ?? {}));
  return {
    frame: options.frame ?? [],
    view,
    parameters: new Map(Object.entries(options.parameters ?? {})),
    variables: { get: (name) => variables.get(name) ?? null },
    runtime: {
      clock: { now: () => 0, monotonicMs: () => 0 },
      timers: { after: () => () => {}, sleep: async () => {}, yield: async () => {} },
      random: { uint32: () => 0, bytes: (n) => new Uint8Array(n), uuid: () => '' },
    },
    formats: defaultTemporalFormats,
    limits: {
      elementCountMax: options.elementCountMax ?? 500_000,
      rangeSizeMax: 10_000_000,
      valueBytesMax: options.valueBytesMax ?? 64 * 1024 * 1024,
    },
    memory: { reserve() {}, release() {} },
    regexBudget: { remainingMs: 1_000 },
    databaseName: 'test',
    serverVersion: '1.0.0',
  };
}

/** Counts its calls, so that tests see what is evaluated how often. */
export const calls = { count: 0 };

const functions: readonly ScalarFunction[] = [
  {
    name: 'upper',
    arity: { min: 1, max: 1 },
    isDeterministic: true,
    syntax: 'upper(text)',
    evaluate: ([text], { formats }) => {
      calls.count++;
      return textOf(text ?? null, formats).toUpperCase();
    },
  },
  {
    name: '.left',
    arity: { min: 2, max: 2 },
    isDeterministic: true,
    syntax: 'left(n)',
    evaluate: ([text, count]) => String(text).slice(0, Number(count)),
  },
];

const registry: FunctionRegistry = {
  scalar: (name) => functions.find((f) => f.name === name.toLowerCase()),
  aggregate: () => undefined,
  suggest: (name) => (name.startsWith('u') ? 'upper' : undefined),
};

export const environment: CompileEnvironment = {
  functions: registry,
  compileSubPlan: (_plan, _output, mode) => () =>
    mode === 'count' ? 2 : mode === 'exists' ? true : [],
};

/** The value of an expression. */
export function evaluate(expression: Expression, options: ContextOptions = {}): Value {
  return compileExpression(expression, environment)(context(options));
}

export const c = (value: Value): Expression => ({ op: 'Constant', value });
export const slot = (n: Slot): Expression => ({ op: 'Slot', slot: n });
export const arithmetic = (
  operator: ArithmeticOperator,
  left: Value,
  right: Value,
): Expression => ({
  op: 'Arithmetic',
  operator,
  left: c(left),
  right: c(right),
  dialect: 'sql',
});
export const compare = (operator: CompareOperator, left: Value, right: Value): Expression => ({
  op: 'Compare',
  operator,
  left: c(left),
  right: c(right),
  dialect: 'sql',
});
export const contains = (kind: ContainsKind, collection: Value, value: Value): Expression => ({
  op: 'Contains',
  kind,
  collection: c(collection),
  value: c(value),
});
export const property = (of: Expression, name: string): Expression => ({
  op: 'Property',
  of,
  name,
  dialect: 'sql',
});
export const branch = (condition: Value, value: Value) => ({
  when: c(condition),
  // biome-ignore lint/suspicious/noThenProperty: the name is the algebra's; nobody awaits an expression
  then: c(value),
});
