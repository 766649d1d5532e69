import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SchemaChange } from '#catalog/change/changes.ts';
import type { TypeId } from '#core/value/rid.ts';
import { effectsOf, effectsOfPlan } from '#query/algebra/effects.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';

const argument: LogicalPlan = { op: 'Argument' };
const type = 1 as TypeId;
const insert: LogicalPlan = {
  op: 'Insert',
  input: argument,
  type,
  bucket: undefined,
  assignments: [],
  as: 0,
};

function effects(plan: LogicalPlan): readonly string[] {
  return [...effectsOfPlan(plan)].sort();
}

test('a plan that only reads is read-only, however deep', () => {
  assert.deepEqual(effects(argument), ['read']);
  const scan: LogicalPlan = { op: 'TypeScan', types: [type], as: 0 };
  const sorted: LogicalPlan = { op: 'Limit', input: scan, count: { op: 'Constant', value: 1 } };
  assert.deepEqual(effects(sorted), ['read']);
});

test('every writing node says what it does', () => {
  assert.deepEqual(effects(insert), ['insert', 'read']);
  const record = 0;
  const update: LogicalPlan = {
    op: 'Update',
    input: argument,
    record,
    assignments: [],
    applyDefaults: false,
    before: undefined,
  };
  assert.deepEqual(effects(update), ['read', 'update']);
  assert.deepEqual(effects({ op: 'Delete', input: argument, record, detach: true }), [
    'delete',
    'read',
  ]);
  const upsert: LogicalPlan = {
    op: 'FindOrInsert',
    find: argument,
    type,
    initial: [],
    as: 0,
    inserted: 1,
  };
  assert.deepEqual(effects(upsert), ['insert', 'read']);
  const change: SchemaChange = { kind: 'drop-all-indexes' };
  assert.deepEqual(effects({ op: 'Alter', change, as: 0 }), ['read', 'schema']);
});

test('a write inside an expression of a reading plan counts', () => {
  const plan: LogicalPlan = {
    op: 'Filter',
    input: argument,
    predicate: { op: 'SubPlan', plan: insert, output: { kind: 'value', slot: 0 }, mode: 'exists' },
  };
  assert.deepEqual(effects(plan), ['insert', 'read']);
});

test('procedures and functions that write are told apart by their registries', () => {
  const call: LogicalPlan = {
    op: 'Call',
    input: argument,
    procedure: 'purge',
    arguments: [{ op: 'Call', function: 'log', arguments: [] }],
    yields: [],
  };
  const writing = {
    procedures: new Map([['purge', ['delete'] as const]]),
    functions: new Map([['log', ['insert'] as const]]),
  };
  assert.deepEqual([...effectsOfPlan(call, writing)].sort(), ['delete', 'insert', 'read']);
  assert.deepEqual([...effectsOfPlan(call)], ['read']);
});

test('operations need the right to security, scripts count as anything they could do', () => {
  const operation = { kind: 'operation', name: 'backup', arguments: new Map() } as const;
  assert.ok(effectsOf(operation).has('security'));
  assert.ok(effectsOf({ kind: 'script', steps: [] }).has('delete'));
});
