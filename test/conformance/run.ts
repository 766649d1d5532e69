import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ServerEngine } from './opencypher/engine.ts';
import { HttpEngine } from './opencypher/http-engine.ts';
import type { Scenario } from './opencypher/gherkin.ts';
import { runScenario } from './opencypher/scenario-run.ts';
import { isSuiteThere, readSuite, suiteDirectory } from './opencypher/suite.ts';

/**
 * npm run conformance -- opencypher [--http] [--filter text] [--verbose] [--known file]: each scenario of the suite against the server in
 * process, or against a server process over HTTP (but those that bring procedures along, which only a server in process takes). Prints
 * what failed and why, a table per folder, and ends with `conformance: N passed, N failed`. Exits with 0 when all have passed.
 * A file of known failures has one title a line: they count as skipped while they fail, and as failed once they pass, so that
 * the file tells the truth.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    filter: { type: 'string' },
    verbose: { type: 'boolean' },
    brief: { type: 'boolean' },
    http: { type: 'boolean' },
    known: { type: 'string' },
  },
});
const [suite = 'opencypher'] = positionals;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

if (suite !== 'opencypher') {
  print(`unknown suite '${suite}'; there is: opencypher`);
  process.exitCode = 2;
} else if (!isSuiteThere()) {
  print(`conformance: skipped, there is no suite at ${suiteDirectory}`);
} else {
  process.exitCode = (await runSuite()) === 0 ? 0 : 1;
}

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** Titles that are known to fail. */
function knownFailures(): ReadonlySet<string> {
  if (values.known === undefined) return new Set();
  const lines = readFileSync(values.known, 'utf8').split('\n');
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')));
}

async function runSuite(): Promise<number> {
  const scenarios = readSuite().filter(
    ({ title, scenario }) =>
      (values.filter === undefined || title.includes(values.filter)) &&
      !(values.http && bringsProcedures(scenario)),
  );
  const known = knownFailures();
  const graphs = `${suiteDirectory}/graphs`;
  await using engine = values.http ? await HttpEngine.start(graphs) : new ServerEngine(graphs);
  const folders = new Map<string, Tally>();
  for (const { folder, title, scenario } of scenarios) {
    const problem = await runScenario(scenario, engine);
    const tally = folders.get(folder) ?? { passed: 0, failed: 0, skipped: 0 };
    folders.set(folder, tally);
    const isKnown = known.has(title);
    if (problem !== undefined && isKnown) {
      tally.skipped += 1;
      continue;
    }
    if (problem === undefined && isKnown) {
      tally.failed += 1;
      print(`FAIL ${title}\n     passes now: take it out of ${values.known}`);
      continue;
    }
    if (problem === undefined) {
      tally.passed += 1;
      if (values.verbose) print(`ok   ${title}`);
      continue;
    }
    tally.failed += 1;
    print(
      `FAIL ${title}\n     ${(values.brief ? problem.slice(0, 200) : problem).replaceAll('\n', '\n     ')}`,
    );
  }
  return report(folders);
}

function bringsProcedures({ steps }: Scenario): boolean {
  return steps.some(({ text }) => text.startsWith('there exists a procedure '));
}

function report(folders: ReadonlyMap<string, Tally>): number {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  print('');
  for (const [folder, tally] of folders) {
    passed += tally.passed;
    failed += tally.failed;
    skipped += tally.skipped;
    print(
      `${folder.padEnd(40)} ${String(tally.passed).padStart(5)} passed ${String(tally.failed).padStart(5)} failed`,
    );
  }
  print(`conformance: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed;
}
