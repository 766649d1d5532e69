import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

/**
 * npm test [-- pattern ...]: the quick tests, on two processors. Each takes the next share of the files when it is done with
 * one, so that none waits for the other for long. The first reports as it runs, the second when all have ended. Exits with 0
 * when all have passed.
 */
const { positionals } = parseArgs({ allowPositionals: true });
const patterns = positionals.length > 0 ? positionals : ['test/**/*.test.ts'];
const lanes = Math.min(2, availableParallelism());
/** More of them are more even, but each loads the product once more, which takes a second. */
const shares = positionals.length > 0 ? lanes : 3 * lanes;

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
      { stdio: ['ignore', live ? 'inherit' : 'pipe', 'inherit'] },
    );
    const pieces: Buffer[] = [];
    child.stdout?.on('data', (piece: Buffer) => pieces.push(piece));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (signal !== null) process.stderr.write(`share ${share} was ended by ${signal}\n`);
      resolve({ status: code ?? 1, report: Buffer.concat(pieces).toString() });
    });
  });
}

let begun = 0;
let hasFailed = false;
const reports: string[] = [];

async function runLane(live: boolean): Promise<void> {
  while (begun < shares) {
    begun += 1;
    const { status, report } = await runShare(begun, live);
    if (status !== 0) hasFailed = true;
    reports.push(report);
  }
}

await Promise.all(Array.from({ length: lanes }, (_, at) => runLane(at === 0)));
for (const report of reports) process.stdout.write(report);
process.exitCode = hasFailed ? 1 : 0;
