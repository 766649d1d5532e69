// Goal: the runner of the conformance suite passes nothing that is wrong. Method: a small feature against a stand-in for the server
// whose answers are known; each copy of a scenario with one expectation changed must fail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { double, type Value } from '#core/value/value.ts';
import { printActual } from './opencypher/actual.ts';
import { parseFeature } from './opencypher/gherkin.ts';
import {
  type ConformanceEngine,
  type QueryOutcome,
  runScenario,
  type WriteCounts,
} from './opencypher/scenario-run.ts';
import type { GraphState } from './opencypher/side-effects.ts';
import { spoiltCopies } from './opencypher/spoilt.ts';

const feature = `
Feature: stand-in
  Background:
    Given an empty graph

  Scenario: rows in any order
    And parameters are:
      | p | [1, 'a\\|b', null] |
    When executing query:
      """
      rows
      """
    Then the result should be, in any order:
      | a   | b               |
      | 2   | [1.0, true]     |
      | 1   | {k: 'it\\\\'s'} |
    And no side effects

  Scenario Outline: rows in order
    When executing query:
      """
      <query>
      """
    Then the result should be, in order:
      | a | b               |
      | 1 | {k: 'it\\\\'s'} |
      | 2 | [1.0, true]     |

    Examples:
      | query |
      | rows  |

  Scenario: writes
    When executing query:
      """
      write
      """
    Then the result should be empty
    And the side effects should be:
      | +nodes  | 1 |
      | -labels | 1 |

  Scenario: failures
    When executing query:
      """
      fail
      """
    Then a SyntaxError should be raised at compile time: UndefinedVariable

  @ignore
  Scenario: left out
    When executing query:
      """
      rows
      """
    Then the result should be empty
`;

const rows: QueryOutcome = {
  columns: ['a', 'b'],
  rows: [
    [1, new Map<string, Value>([['k', "it's"]])],
    [2, [double(1), true]],
  ],
  counts: undefined,
};
const counts = {
  nodesCreated: 1,
  nodesDeleted: 0,
  relationshipsCreated: 0,
  relationshipsDeleted: 0,
  propertiesSet: 0,
  labelsAdded: 0,
  labelsRemoved: 1,
};
const failure: QueryOutcome = {
  type: 'SyntaxError',
  phase: 'compile time',
  detail: 'UndefinedVariable',
  message: 'UndefinedVariable: x',
};

function state(nodes: readonly string[], labels: readonly string[]): GraphState {
  const none = new Set<string>();
  return { nodes: new Set(nodes), relationships: none, properties: none, labels: new Set(labels) };
}

function standIn(
  { written }: { readonly written: WriteCounts | undefined } = { written: counts },
): ConformanceEngine {
  let now = state([], ['L']);
  return {
    printer: { ignoresListOrder: false, textOf: String },
    print: printActual,
    clear: async () => {
      now = state([], ['L']);
    },
    register: () => {},
    namedGraph: () => '',
    state: async () => now,
    query: async (text) => {
      if (text.trim() === 'rows') return rows;
      if (text.trim() === 'fail') return failure;
      now = state(['1'], []);
      return { columns: [], rows: [], counts: written };
    },
  };
}

test('scenarios pass, and each spoilt copy of them fails', async () => {
  const scenarios = parseFeature(feature);
  assert.deepEqual(
    scenarios.map(({ name }) => name),
    ['rows in any order', 'rows in order (1)', 'writes', 'failures'],
  );
  let copyCount = 0;
  for (const scenario of scenarios) {
    assert.equal(await runScenario(scenario, standIn()), undefined, scenario.name);
    for (const copy of spoiltCopies(scenario)) {
      copyCount += 1;
      assert.notEqual(await runScenario(copy.scenario, standIn()), undefined, copy.what);
    }
  }
  assert.ok(copyCount >= 15, String(copyCount));
});

test('a statement whose counters tell something else than the graph fails its scenario', async () => {
  const scenario = parseFeature(feature).find(({ name }) => name === 'writes');
  assert.ok(scenario);
  for (const [written, problem] of [
    [undefined, /there are no stats/],
    [{ ...counts, nodesCreated: 2 }, /stats count other nodes/],
    [{ ...counts, nodesDeleted: 1 }, /stats count other nodes/],
    [{ ...counts, relationshipsCreated: 1 }, /stats count other relationships/],
    [{ ...counts, labelsRemoved: 0 }, /a label is gone/],
  ] as const)
    assert.match((await runScenario(scenario, standIn({ written }))) ?? '', problem);
});

test('a failure that no step asks about is one of the scenario', async () => {
  const [scenario] = parseFeature(
    'Feature: f\nScenario: s\nWhen executing query:\n"""\nfail\n"""\n',
  );
  assert.ok(scenario);
  assert.match((await runScenario(scenario, standIn())) ?? '', /UndefinedVariable/);
});
