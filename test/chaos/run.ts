import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printHistory } from '../history/history.ts';
import { runCell } from './cell.ts';
import { nemeses } from './nemeses.ts';
import { workloads } from './workloads.ts';

// npm run chaos -- [--cells kill:register,pause:bank] [--seconds 40] [--seed N] [--clients 6] [--history FILE] [--quiet]
// Three real servers, one kind of fault and one kind of work in each cell. Without `--cells`: all of them, one behind the other.
const { values } = parseArgs({
  options: {
    cells: { type: 'string' },
    seconds: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '6' },
    history: { type: 'string' },
    quiet: { type: 'boolean', default: false },
  },
});
const all = Object.keys(nemeses).flatMap((nemesis) =>
  Object.keys(workloads).map((workload) => `${nemesis}:${workload}`),
);
const cells = values.cells?.split(',') ?? all;
const beganMs = performance.now();
let failed = 0;
for (const cell of cells) {
  const [nemesis = '', workload = ''] = cell.split(':');
  const seed = Number(values.seed);
  const { problems, history, counts, leaderChanges } = await runCell({
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
  console.log(JSON.stringify({ cell, seed, leaderChanges, ...counts }));
  if (problems.length === 0) continue;
  failed += 1;
  for (const problem of problems.slice(0, 20)) console.log(`VIOLATION ${cell}: ${problem}`);
  if (values.history !== undefined) writeFileSync(values.history, printHistory(history));
  console.log(`npm run chaos -- --cells ${cell} --seconds ${values.seconds} --seed ${seed}`);
}
console.log(`chaos: ${cells.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
