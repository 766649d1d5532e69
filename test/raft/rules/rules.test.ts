import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runGoldenFile } from '#test/support/datadriven.ts';
import { rules } from '../support/rules.ts';
import { ScriptedGroup } from '../support/scripted-group.ts';

// Each numbered rule of ha.md 2 as a script with its whole trace, or as a test of its own (support/rules.ts).
const root = join(import.meta.dirname, '../../..');
const directory = import.meta.dirname;
const scripts = globSync('*/*.raft.txt', { cwd: directory }).sort();

for (const file of scripts) {
  let group = new ScriptedGroup(new Map());
  runGoldenFile(join(directory, file), ({ command, options, input }) => {
    if (command === 'do') return group.run(input);
    group = new ScriptedGroup(options);
    return '';
  });
}

test('every numbered rule has its test, and every script its rule', () => {
  const scripted = scripts.map((file) => file.split('/')[1]?.split('-')[0] ?? '');
  const problems: string[] = [];
  for (const { number, says, test: elsewhere } of rules) {
    const isTested =
      elsewhere === undefined
        ? scripted.includes(number)
        : readFileSync(join(root, elsewhere.file), 'utf8').includes(elsewhere.title);
    if (!isTested) problems.push(`${number} ${says}: no test`);
  }
  const sections = new Set(rules.flatMap(({ number }) => [number, number.replace(/\.\d+$/, '')]));
  for (const number of scripted)
    if (!sections.has(number)) problems.push(`${number}: a script without a rule`);
  assert.deepEqual(problems, []);
});

test('every invariant of ha.md 2.14 is asserted in the core, but I12, which only all members together show', () => {
  const sources = globSync('server/raft/*.ts', { cwd: root }).map((file) =>
    readFileSync(join(root, file), 'utf8'),
  );
  const asserted = new Set(sources.flatMap((text) => text.match(/\bI\d+(?=[,:])/g) ?? []));
  const missing = Array.from({ length: 13 }, (_, i) => `I${i + 1}`).filter(
    (name) => !asserted.has(name),
  );
  assert.deepEqual(missing, ['I12']);
});
