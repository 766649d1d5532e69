import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

/**
 * npm test [-- pattern ...]: the quick tests, a share of the files on each of two processors. The first share reports
 * as it runs, the second when the first has ended. Exits with 0 when all have passed.
 */
const { positionals } = parseArgs({ allowPositionals: true });
const patterns = positionals.length > 0 ? positionals : ['test/**/*.test.ts'];
const shares = Math.min(2, availableParallelism());

function runShare(share: number): Promise<{ status: number; report: string }> {
  const live = share === 1;
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

const outcomes = await Promise.all(Array.from({ length: shares }, (_, at) => runShare(at + 1)));
for (const { report } of outcomes) process.stdout.write(report);
process.exitCode = outcomes.every(({ status }) => status === 0) ? 0 : 1;
