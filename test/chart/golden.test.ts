import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import { chartDirectory, helms, objectsOf, skipWithoutHelm, template } from './helm.ts';

/*
 * Every file of `chart/ci/` is rendered with every Helm at hand. Its render is compared with `golden/<case>.yaml` (`REWRITE=1`
 * records it), or, when its first line says `# fails: <expression>`, the refusal with that expression.
 */

const casesDirectory = join(chartDirectory, 'ci');
const goldenDirectory = join(import.meta.dirname, 'golden');
const isRewriting = process.env['REWRITE'] === '1';
const cases = readdirSync(casesDirectory).map((name) => name.replace(/\.yaml$/, ''));

describe('the chart renders', { skip: skipWithoutHelm, concurrency: 2 }, () => {
  for (const name of cases) {
    const values = join(casesDirectory, `${name}.yaml`);
    const [, failure] = /^# fails: (.+)/.exec(readFileSync(values, 'utf8')) ?? [];
    if (failure === undefined) it(name, () => compare(name, values));
    else it(`not ${name}`, () => expectRefusal(values, failure));
  }

  it('into golden files of these cases only', () => {
    const known = new Set(cases.map((name) => `${name}.yaml`));
    assert.deepEqual(
      readdirSync(goldenDirectory).filter((file) => !known.has(file)),
      [],
    );
  });
});

async function compare(name: string, values: string): Promise<void> {
  const golden = join(goldenDirectory, `${name}.yaml`);
  for (const helm of helms) {
    const { isGood, output, error } = await template(helm, '--values', values);
    assert.equal(isGood, true, `${helm}: ${error}`);
    const text = print(output);
    if (isRewriting) writeFileSync(golden, text);
    const expected = existsSync(golden) ? readFileSync(golden, 'utf8') : '';
    assert.equal(text, expected, `${helm} renders ${name} differently`);
  }
}

async function expectRefusal(values: string, failure: string): Promise<void> {
  for (const helm of helms) {
    const { isGood, error } = await template(helm, '--values', values);
    assert.equal(isGood, false, `${helm} renders what it should refuse`);
    assert.match(error, new RegExp(`${failure}`), helm);
  }
}

/** The definition is compared elsewhere. */
function print(output: string): string {
  const objects = objectsOf(output).map((object) =>
    object.kind === 'CustomResourceDefinition' ? { ...object, spec: '...' } : object,
  );
  return objects.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');
}
