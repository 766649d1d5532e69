import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Mutant, mutants } from './mutants.ts';

// npm run mutants -- [--tenth 0..9] [--only name,name] [--unchanged]
// Each mutant in a process of its own must be found by its tests. `--tenth` takes every tenth of them; `--unchanged` runs the finders on
// the product as it is: they must pass.
const { values } = parseArgs({
  options: {
    tenth: { type: 'string' },
    only: { type: 'string' },
    unchanged: { type: 'boolean', default: false },
  },
});
const root = join(import.meta.dirname, '../..');
const deadlineMs = 300_000;

function chosen(): readonly Mutant[] {
  const only = values.only?.split(',');
  if (only !== undefined) return mutants.filter(({ name }) => only.includes(name));
  const tenth = values.tenth === undefined ? undefined : Number(values.tenth) % 10;
  return tenth === undefined ? mutants : mutants.filter((_, i) => i % 10 === tenth);
}

/** An error that the product has changed away from is none any more. */
function problemOf({ edits }: Mutant): string | undefined {
  for (const { file, from } of edits) {
    const count = readFileSync(join(root, file), 'utf8').split(from).length - 1;
    if (count !== 1) return `its text stands ${count} times in ${file}`;
  }
  return undefined;
}

function run(args: readonly string[], mutant: string | undefined): boolean {
  const hook = mutant === undefined ? [] : ['--import', join(import.meta.dirname, 'hook.ts')];
  const { status } = spawnSync(process.execPath, [...hook, ...args], {
    cwd: root,
    env: { ...process.env, MUTANT: mutant ?? '', NODE_TEST_CONTEXT: undefined },
    stdio: 'ignore',
    timeout: deadlineMs,
  });
  return status === 0;
}

let found = 0;
const survivors: string[] = [];
const tried = new Set<string>();
for (const mutant of chosen()) {
  const { name, says, finder } = mutant;
  if (values.unchanged) {
    const key = finder.join(' ');
    if (tried.has(key)) continue;
    tried.add(key);
    if (run(finder, undefined)) found += 1;
    else survivors.push(key);
    continue;
  }
  const problem = problemOf(mutant) ?? (run(finder, name) ? 'it is not found' : undefined);
  if (problem === undefined) found += 1;
  else survivors.push(name);
  console.log(
    `${problem === undefined ? 'found' : 'SURVIVES'} ${name}: ${says}${problem ? ` (${problem})` : ''}`,
  );
}
if (survivors.length > 0) console.log(`survivors: ${survivors.join(', ')}`);
console.log(`mutants: ${found} passed, ${survivors.length} failed`);
process.exitCode = survivors.length === 0 ? 0 : 1;
