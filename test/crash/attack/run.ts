import { parseArgs } from 'node:util';
import { type Ending, endings, runAttack, scenarios } from './attack-loop.ts';

// npm run crash:attack -- --rounds 60 --seed 1 [--only schema,batches] [--ending kill]: every kind of work at once, ended by
// SIGKILL, by SIGTERM, and by SIGTERM with SIGKILL after it. With --folds (npm run crash:folds) texts alone, under lower bounds.
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    ending: { type: 'string', default: endings.join() },
    folds: { type: 'boolean', default: false },
    low: { type: 'string', default: '200' },
    high: { type: 'string', default: '3000' },
  },
});
const names = Object.keys(scenarios).filter((name) => (name === 'texts') === values.folds);
const outcome = await runAttack({
  seed: Number(values.seed),
  rounds: Number(values.rounds),
  names: values.only?.split(',') ?? names,
  endings: values.ending.split(',') as Ending[],
  lifetimeMsMin: Number(values.low),
  lifetimeMsMax: Number(values.high),
  folds: values.folds,
  report: (line) => process.stdout.write(`${line}\n`),
});
for (const [text, count] of outcome.remarks) process.stdout.write(`${count} x ${text}\n`);
for (const violation of outcome.violations) process.stdout.write(`VIOLATION ${violation}\n`);
const failed = outcome.violations.length === 0 ? 0 : 1;
process.stdout.write(`crash-attack: ${outcome.rounds - failed} passed, ${failed} failed\n`);
process.exit(failed);
