import { parseArgs } from 'node:util';
import { runKillLoop } from './kill-loop.ts';

// npm run crash -- --kills 200 --seed 1: the durability promise, tried until it breaks or the count is reached.
const { values } = parseArgs({
  options: { kills: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
});
const outcome = await runKillLoop({
  kills: Number(values.kills),
  seed: Number(values.seed),
  clients: 8,
  lifetimeMsMin: 100,
  lifetimeMsMax: 900,
  report: (line) => process.stdout.write(`${line}\n`),
});
for (const violation of outcome.violations) process.stdout.write(`VIOLATION ${violation}\n`);
process.stdout.write(
  `${outcome.kills} kills, ${outcome.itemCount} items, ${outcome.edgeCount} edges, ${outcome.transfers} transfers; replay with --seed ${values.seed}\n`,
);
process.stdout.write(
  `crash: ${outcome.violations.length === 0 ? outcome.kills : outcome.kills - 1} passed, ${outcome.violations.length === 0 ? 0 : 1} failed\n`,
);
process.exit(outcome.violations.length === 0 ? 0 : 1);
