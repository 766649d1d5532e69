import type { Scenario, Step } from './gherkin.ts';

/** Copies of a scenario with one expectation changed, each of which must fail where the scenario passes. */
export function spoiltCopies(scenario: Scenario): readonly { what: string; scenario: Scenario }[] {
  const copies: { what: string; scenario: Scenario }[] = [];
  scenario.steps.forEach((step, at) => {
    for (const [what, changed] of spoiltSteps(step)) {
      const steps = scenario.steps.map((other, index) => (index === at ? changed : other));
      copies.push({ what, scenario: { name: scenario.name, steps } });
    }
  });
  return copies;
}

function spoiltSteps(step: Step): readonly (readonly [string, Step])[] {
  if (step.text === 'no side effects')
    return [
      ['side effects', { ...step, text: 'the side effects should be:', table: [['+nodes', '99']] }],
    ];
  if (step.text === 'the side effects should be:') return spoiltEffects(step);
  if (step.text === 'the result should be empty')
    return [
      ['a row', { ...step, text: 'the result should be, in any order:', table: [['x'], ['1']] }],
    ];
  if (step.text.startsWith('the result should be')) return spoiltResults(step);
  const raised = /^(an? )(\w+)( should be raised at .*: )(.+)$/.exec(step.text);
  if (raised === null) return [];
  const [, article, type, middle, detail] = raised;
  const copies: [string, Step][] = [
    ['error type', { ...step, text: `${article}No${type}${middle}${detail}` }],
  ];
  if (detail !== '*')
    copies.push(['error detail', { ...step, text: `${article}${type}${middle}No${detail}` }]);
  return copies;
}

function spoiltEffects(step: Step): readonly (readonly [string, Step])[] {
  const [[kind = '', count = '0'] = [], ...rest] = step.table;
  return [
    ['a side effect', { ...step, table: [[kind, String(Number(count) + 1)], ...rest] }],
    ['all side effects', { ...step, table: [] }],
  ];
}

function spoiltResults(step: Step): readonly (readonly [string, Step])[] {
  const [header = [], ...rows] = step.table;
  const [first] = rows;
  const copies: [string, Step][] = [
    ['a column', { ...step, table: [[`${header[0]}x`, ...header.slice(1)], ...rows] }],
  ];
  if (first === undefined) return copies;
  copies.push(
    ['a cell', { ...step, table: [header, ["'spoilt'", ...first.slice(1)], ...rows.slice(1)] }],
    ['a missing row', { ...step, table: [header, ...rows.slice(1)] }],
    ['a row too many', { ...step, table: [header, first, ...rows] }],
  );
  const integer = first.findIndex((cell) => /^-?\d+$/.test(cell));
  if (integer >= 0) {
    const cells = first.map((cell, at) => (at === integer ? `${cell}.0` : cell));
    copies.push(['an integer', { ...step, table: [header, cells, ...rows.slice(1)] }]);
  }
  const isOrdered = step.text.includes('in order');
  if (isOrdered && rows.length > 1 && rows.at(-1)?.join() !== first.join())
    copies.push(['the order', { ...step, table: [header, ...rows.slice(1), first] }]);
  return copies;
}
