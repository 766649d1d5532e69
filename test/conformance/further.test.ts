// Goal: what the book says and no example of the suite beside the project shows. Method: scenarios of our own, run as strictly as those.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { ServerEngine } from './opencypher/engine.ts';
import { parseFeature } from './opencypher/gherkin.ts';
import { runScenario } from './opencypher/scenario-run.ts';

const directory = new URL('further/', import.meta.url);
const engine = new ServerEngine('');
after(() => engine[Symbol.asyncDispose]());

for (const file of readdirSync(directory).filter((name) => name.endsWith('.feature')))
  test(`every scenario of ${file} passes`, async () => {
    const problems: string[] = [];
    for (const scenario of parseFeature(readFileSync(new URL(file, directory), 'utf8'))) {
      const problem = await runScenario(scenario, engine);
      if (problem !== undefined) problems.push(`${scenario.name}: ${problem}`);
    }
    assert.deepEqual(problems, []);
  });
