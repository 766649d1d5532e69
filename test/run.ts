import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

/**
 * npm test [-- pattern ...]: the quick tests, for two processors: three processes, since each waits for disks and timers a
 * quarter of its time. Each takes the next share of the files when it is done with one, so that none waits for the others for
 * long. The first reports as it runs, the others when all have ended. Exits with 0 when all have passed.
 */
const { positionals } = parseArgs({ allowPositionals: true });
const patterns = positionals.length > 0 ? positionals : ['test/**/*.test.ts'];
for (const pattern of patterns)
  if (globSync(pattern).length === 0) {
    process.stderr.write(`no file matches '${pattern}'\n`);
    process.exit(1);
  }
const lanes = positionals.length > 0 ? Math.min(2, availableParallelism()) : 3;
/** More of them are more even, but each loads the product once more, which takes a second. */
const shares = positionals.length > 0 ? lanes : 2 * lanes;

/** @param live it reports as it runs */
function runShare(share: number, live: boolean): Promise<{ status: number; report: string }> {
  const runner = [
    '--test',
    '--test-isolation=none',
    '--test-timeout=60000',
    '--test-reporter=spec',
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [...runner, `--test-shard=${share}/${shares}`, ...patterns],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const pieces: Buffer[] = [];
    child.stdout?.on('data', (piece: Buffer) => {
      pieces.push(piece);
      if (live) process.stdout.write(piece);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (signal !== null) process.stderr.write(`share ${share} was ended by ${signal}\n`);
      resolve({ status: code ?? 1, report: Buffer.concat(pieces).toString() });
    });
  });
}

let begun = 0;
let hasFailed = false;
const reports: { readonly report: string; readonly wasShown: boolean }[] = [];

async function runLane(live: boolean): Promise<void> {
  while (begun < shares) {
    begun += 1;
    const { status, report } = await runShare(begun, live);
    if (status !== 0) hasFailed = true;
    reports.push({ report, wasShown: live });
  }
}

await Promise.all(Array.from({ length: lanes }, (_, at) => runLane(at === 0)));
for (const { report, wasShown } of reports) if (!wasShown) process.stdout.write(report);
showSummary();
process.exitCode = hasFailed ? 1 : 0;

/** What all shares together did; the last lines tell of every failure, whichever share it was in. */
function showSummary(): void {
  const sums = new Map<string, number>();
  const failures: string[] = [];
  for (const { report } of reports)
    for (const line of report.split('\n')) {
      const [, name, count] = /^ℹ (tests|pass|fail|cancelled|skipped) (\d+)$/.exec(line) ?? [];
      if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(count));
      else if (line.startsWith('✖ ') && line !== '✖ failing tests:') failures.push(line);
    }
  const counts = [...sums].map(([name, count]) => `${count} ${name}`).join(', ');
  process.stdout.write(`\nAll shares: ${counts}\n`);
  for (const failure of new Set(failures)) process.stdout.write(`${failure}\n`);
  if (hasFailed && failures.length === 0) process.stdout.write('A share ended with an error.\n');
}
