import { parseArgs } from 'node:util';
import { Comparison } from './comparison.ts';
import { explore, scenes } from './explore.ts';

// npm run raft -- [--states 350000] [--walks 1000] [--from 1]
// Visits the states of the specification from each scene, breadth first, then walks the core beside it.
const { values } = parseArgs({
  options: {
    states: { type: 'string', default: '350000' },
    walks: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
  },
});
const stateMax = Number(values.states);
let passed = 0;
let failed = 0;
let states = 0;
const bounds = { size: 3, logMax: 3, crashMax: 1, messageMax: 4, twiceMax: 1, stateMax };

function attempt(name: string, run: () => unknown): void {
  try {
    console.log(name, JSON.stringify(run()));
    passed += 1;
  } catch (error) {
    console.error(name, error);
    failed += 1;
  }
}

for (const [name, scene] of Object.entries(scenes))
  attempt(`specification ${name}`, () => {
    const found = explore({ ...bounds, termMax: scene.leaders.length > 0 ? 4 : 2 }, scene);
    states += found.states;
    return found;
  });
const from = Number(values.from);
const totals = { steps: 0, leaders: 0, commits: 0, crashes: 0 };
attempt('core beside the specification', () => {
  for (let seed = from; seed < from + Number(values.walks); seed++) {
    const walk = new Comparison(seed);
    try {
      walk.run(4000);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
    for (const name of ['steps', 'leaders', 'commits', 'crashes'] as const)
      totals[name] += walk.counts[name];
  }
  return totals;
});
console.log(`raft: ${passed} passed, ${failed} failed, 0 skipped; ${states} states`);
process.exitCode = failed === 0 ? 0 : 1;
