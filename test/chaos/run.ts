import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printHistory } from '../history/history.ts';
import { runCell } from './cell.ts';
import { nemeses } from './nemeses.ts';
import { runScenarios } from './scenarios.ts';
import { workloads } from './workloads.ts';

// npm run chaos -- [--cells kill:register,pause:bank] [--seconds 40] [--seed N] [--clients 6] [--history FILE] [--quiet]
//                  [--rotate DAY [--count 12]] [--scenarios [F1 H2]]
// Three real servers, one kind of fault and one kind of work in each cell. Without `--cells`: all of them, one behind the other.
// `--rotate` takes another work for each kind of fault every day; `--scenarios` runs the tests of ha-testing.md 10.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cells: { type: 'string' },
    seconds: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '6' },
    history: { type: 'string' },
    rotate: { type: 'string' },
    count: { type: 'string', default: '12' },
    scenarios: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
  },
});
const beganMs = performance.now();

/** Each kind of fault once, the next work each day: all cells in as many days as there are kinds of work. */
function rotated(day: number, count: number): readonly string[] {
  const works = Object.keys(workloads);
  const faults = Object.keys(nemeses);
  return Array.from({ length: count }, (_, at) => {
    const turn = day * count + at;
    const round = Math.floor(turn / faults.length);
    return `${faults[turn % faults.length]}:${works[(round + at) % works.length]}`;
  });
}

function chosen(): readonly string[] {
  if (values.rotate !== undefined) return rotated(Number(values.rotate), Number(values.count));
  const works = Object.keys(workloads);
  const all = Object.keys(nemeses).flatMap((nemesis) => works.map((work) => `${nemesis}:${work}`));
  return values.cells?.split(',') ?? all;
}

async function runCells(): Promise<boolean> {
  const cells = chosen();
  let failed = 0;
  let skipped = 0;
  for (const cell of cells) {
    const [nemesis = '', workload = ''] = cell.split(':');
    const seed = Number(values.seed);
    const { problems, history, counts, leaderChanges, ...rest } = await runCell({
      nemesis,
      workload,
      seed,
      seconds: Number(values.seconds),
      clients: Number(values.clients),
      say: (what) => {
        if (!values.quiet)
          console.log(`${((performance.now() - beganMs) / 1000).toFixed(1)} ${what}`);
      },
    });
    const seconds = Math.round((performance.now() - beganMs) / 1000);
    console.log(JSON.stringify({ cell, seed, until: seconds, leaderChanges, ...counts, ...rest }));
    if (rest.skipped !== undefined) skipped += 1;
    if (problems.length === 0) continue;
    failed += 1;
    for (const problem of problems.slice(0, 20)) console.log(`VIOLATION ${cell}: ${problem}`);
    if (values.history !== undefined) writeFileSync(values.history, printHistory(history));
    console.log(`npm run chaos -- --cells ${cell} --seconds ${values.seconds} --seed ${seed}`);
  }
  const passed = cells.length - failed - skipped;
  console.log(`chaos: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0;
}

const isRight = values.scenarios ? await runScenarios(positionals) : await runCells();
process.exitCode = isRight ? 0 : 1;
