import type { TypeDefinition } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { RecordContext, RecordStep } from '#query/algebra/commands.ts';
import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { Assignment, LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import type { KeyParameters } from './keys.ts';

/**
 * The plans of commands on records, each with a shape that names it: keys and contents are parameters, so that a plan is made once
 * for each address. A lookup is what `SELECT FROM Type WHERE p = :p` is; the optimizer finds the index.
 */

/** What a key is looked up in. */
export type Lookup =
  | { readonly kind: 'rid'; readonly type: TypeDefinition | undefined }
  | {
      readonly kind: 'index';
      readonly type: TypeDefinition;
      readonly properties: readonly string[];
    };

const record: Slot = 0;
const other: Slot = 1;
const slotCount = 2;

export function readStep(
  lookup: Lookup,
  key: KeyParameters,
  gives: 'record' | 'exists',
  { catalog }: RecordContext,
): RecordStep {
  return {
    shape: shapeOf(gives, lookup),
    parameters: new Map(key),
    gives,
    program: () => {
      const plan = found(lookup, (type) => catalog.withSubtypes(type));
      return gives === 'exists' ? programOf(plan, record) : asText(plan);
    },
  };
}

export function deleteStep(
  lookup: Lookup,
  key: KeyParameters,
  { catalog }: RecordContext,
): RecordStep {
  return {
    shape: shapeOf('delete', lookup),
    parameters: new Map(key),
    gives: 'count',
    program: () => {
      const input = eager(found(lookup, (type) => catalog.withSubtypes(type)));
      return counted({ op: 'Delete', input, record, detach: true });
    },
  };
}

/** Sets the named properties of the record that the key finds. */
export function updateStep(
  lookup: Lookup,
  key: KeyParameters,
  changes: ValueMap,
  { catalog }: RecordContext,
): RecordStep {
  return {
    shape: shapeOf('update', lookup),
    parameters: new Map([...key, ['changes', changes]]),
    gives: 'count',
    alsoInserts: lookup.type?.name,
    program: () => {
      const input = eager(found(lookup, (type) => catalog.withSubtypes(type)));
      const assignments: Assignment[] = [{ kind: 'merge', value: parameter('changes') }];
      const change = { record, assignments, applyDefaults: false, before: undefined };
      return counted({ op: 'Update', input, ...change });
    },
  };
}

/** New documents or vertices, one for each map. */
export function insertStep(type: TypeDefinition, records: readonly ValueMap[]): RecordStep {
  return {
    shape: `insert ${type.name}`,
    parameters: new Map([['records', records]]),
    gives: 'count',
    alsoUpdates: type.name,
    program: () => {
      const list = parameter('records');
      const input = { op: 'Unwind', input: argument, list, as: other, keepEmpty: false } as const;
      const content: Assignment = { kind: 'content', value: { op: 'Slot', slot: other } };
      const into = { type: type.id, bucket: undefined, as: record };
      return counted({ op: 'Insert', input, ...into, assignments: [content] });
    },
  };
}

/** A new edge. */
export function insertEdgeStep(
  type: TypeDefinition,
  ends: { readonly from: KeyParameters; readonly to: KeyParameters },
  properties: ValueMap,
): RecordStep {
  const [[, from] = ['', null]] = ends.from;
  const [[, to] = ['', null]] = ends.to;
  return {
    shape: `insert edge ${type.name}`,
    parameters: new Map([
      ['from', from],
      ['to', to],
      ['properties', properties],
    ]),
    gives: 'count',
    alsoUpdates: type.name,
    program: () =>
      counted({
        op: 'InsertEdge',
        input: argument,
        type: type.id,
        bucket: undefined,
        from: parameter('from'),
        to: parameter('to'),
        ifNotExists: false,
        unidirectional: !type.bidirectional,
        assignments: [{ kind: 'content', value: parameter('properties') }],
        as: record,
      }),
  };
}

const argument: LogicalPlan = { op: 'Argument' };

function parameter(name: string): Expression {
  return { op: 'Parameter', name };
}

function shapeOf(what: string, lookup: Lookup): string {
  const type = lookup.type?.name ?? '';
  const properties = lookup.kind === 'rid' ? '@rid' : JSON.stringify(lookup.properties);
  return `${what} ${properties} ${type}`;
}

/** The record that is looked up; the first one where several have the key. */
function found(lookup: Lookup, expand: (type: TypeId) => readonly TypeId[]): LogicalPlan {
  const types = lookup.type && expand(lookup.type.id);
  if (lookup.kind === 'rid')
    return { op: 'RecordLookup', rids: parameter('rid'), as: record, ...(types && { types }) };
  const equalities = lookup.properties.map(
    (name, at): Expression => ({
      op: 'Compare',
      operator: '=',
      left: { op: 'Property', of: { op: 'Slot', slot: record }, name, dialect: 'sql' },
      right: parameter(String(at)),
      dialect: 'sql',
    }),
  );
  const [only] = equalities;
  const predicate: Expression =
    only !== undefined && equalities.length === 1 ? only : { op: 'And', operands: equalities };
  const input: LogicalPlan = { op: 'TypeScan', types: types ?? [], as: record };
  return {
    op: 'Limit',
    input: { op: 'Filter', input, predicate },
    count: { op: 'Constant', value: 1 },
  };
}

function eager(input: LogicalPlan): LogicalPlan {
  return { op: 'Eager', input, slots: [record] };
}

/** The text of the JSON of the record. */
function asText(input: LogicalPlan): QueryProgram {
  const value: Expression = {
    op: 'Call',
    function: 'convert.toJson',
    arguments: [{ op: 'Slot', slot: record }],
  };
  return programOf({ op: 'Project', input, columns: [{ slot: other, value }] }, other);
}

/** One row: how many there are. */
function counted(input: LogicalPlan): QueryProgram {
  const count = { slot: other, function: 'count', arguments: [], distinct: false };
  return programOf(
    { op: 'Aggregate', input, keys: [], first: [], aggregates: [count], dialect: 'sql' },
    other,
  );
}

function programOf(plan: LogicalPlan, slot: Slot): QueryProgram {
  return {
    kind: 'query',
    plan,
    output: { kind: 'value', slot },
    slotCount,
    statementLimit: undefined,
    inspect: undefined,
  };
}
