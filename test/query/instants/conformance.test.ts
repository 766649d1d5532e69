// The temporal scenarios of the openCypher suite, by their expressions alone: WITH, RETURN, CREATE and MATCH are read here, what
// they compute is evaluated by our functions. Left out where the suite is not beside the checkout.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import { compileExpression } from '#query/evaluate/compile.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { context, environment } from '../evaluate/fixtures.ts';
import { parseExpression } from './small-cypher.ts';

const folder = new URL(
  '../../../../shared/conformance/opencypher/features/expressions/temporal/',
  import.meta.url,
);

type Row = readonly string[];

interface Scenario {
  readonly name: string;
  readonly setup: string;
  readonly queries: readonly string[];
  readonly expected: readonly Row[];
  readonly examples: readonly Row[];
}

const cells = (line: string): Row =>
  line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());

function scenariosOf(text: string): readonly Scenario[] {
  return text
    .split(/^ {2}Scenario(?: Outline)?: /m)
    .slice(1)
    .map((part) => {
      const name = part.slice(0, part.indexOf('\n'));
      const [body = '', examples = ''] = part.split('Examples:');
      const documents = [...body.matchAll(/(When|And) [^\n]*:\n\s*"""\n([\s\S]*?)"""/g)];
      const setups = documents.filter(([all]) => all.startsWith('And'));
      const queries = documents.filter(([all]) => all.startsWith('When'));
      const tables = [...body.matchAll(/should be, in any order:\n((?:\s*\|.*\n?)+)/g)];
      const rows = (table: string) => table.trim().split('\n').map(cells);
      return {
        name,
        setup: setups.map((match) => match[2] ?? '').join('\n'),
        queries: queries.map((match) => match[2] ?? ''),
        expected: tables[0] === undefined ? [] : rows(tables[0][1] ?? ''),
        examples: examples.trim() === '' ? [[], []] : rows(examples),
      };
    });
}

function evaluateText(text: string, names: ReadonlyMap<string, Value>): Value {
  const run = compileExpression(parseExpression(text, names), {
    ...environment,
    functions: functionRegistry,
  });
  return run(context());
}

/** Splits at commas that stand in no brackets. */
function itemsOf(text: string): readonly string[] {
  const items: string[] = [];
  let depth = 0;
  let item = '';
  for (const sign of text) {
    if ('([{'.includes(sign)) depth += 1;
    if (')]}'.includes(sign)) depth -= 1;
    if (sign === ',' && depth === 0) {
      items.push(item);
      item = '';
    } else item += sign;
  }
  return [...items, item];
}

/** The values of RETURN, over the variables and nodes of the clauses before it. */
function answer(clauses: string): readonly Value[] {
  const nodes = new Map<string, Value>();
  const names = new Map<string, Value>();
  const pattern = /(CREATE|MATCH|WITH|RETURN)\s+([\s\S]*?)(?=\s(?:CREATE|MATCH|WITH|RETURN)\s|$)/g;
  let returned: readonly Value[] = [];
  for (const [, clause, body = ''] of clauses.matchAll(pattern)) {
    if (clause === 'CREATE') {
      const [, label = '', map = '{}'] = /\((?::(\w+)\s*)?([\s\S]*)\)/.exec(body.trim()) ?? [];
      nodes.set(label, evaluateText(map, names));
    } else if (clause === 'MATCH') {
      for (const [, variable = '', label = ''] of body.matchAll(/\((\w+)(?:\s*:\s*(\w+))?\)/g))
        names.set(variable, nodes.get(label) ?? null);
    } else {
      returned = itemsOf(body).map((item) => {
        const [expression = '', name] = item.split(/ AS /);
        const value = evaluateText(expression, names);
        if (name !== undefined) names.set(name.trim(), value);
        return value;
      });
    }
  }
  return returned;
}

function shown(value: Value): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${(value as readonly Value[]).map(shown).join(', ')}]`;
  const text = textOf(value, defaultTemporalFormats);
  const isQuoted = typeof value === 'object' || typeof value === 'string';
  return isQuoted ? `'${text}'` : text;
}

function filled(text: string, heads: Row, row: Row): string {
  let result = text;
  heads.forEach((head, at) => {
    result = result.replaceAll(`<${head}>`, () => row[at] ?? '');
  });
  return result;
}

test('the temporal scenarios of the suite', { skip: !existsSync(folder) }, () => {
  let count = 0;
  const failures: string[] = [];
  for (const file of readdirSync(folder).sort()) {
    for (const scenario of scenariosOf(readFileSync(new URL(file, folder), 'utf8'))) {
      const [heads = [], ...rows] = scenario.examples;
      for (const row of rows) {
        count += 1;
        const fill = (text: string) => filled(text, heads, row);
        const where = `${file} ${scenario.name}: ${row.join(' | ')}`;
        try {
          const values = answer(fill(`${scenario.setup}\n${scenario.queries.join('\n')}`));
          const wanted = (scenario.expected[1] ?? []).map(fill);
          const got = values.map(shown);
          if (wanted.length === 0) failures.push(`${where}: nothing is wanted`);
          if (got.join(' | ') !== wanted.join(' | '))
            failures.push(`${where}\n  got    ${got.join(' | ')}\n  wanted ${wanted.join(' | ')}`);
        } catch (error) {
          failures.push(`${where}\n  ${String(error)}`);
        }
      }
    }
  }
  assert.deepEqual(failures.slice(0, 20).join('\n'), '', `${failures.length} of ${count} differ`);
  assert.equal(count, 916);
});
