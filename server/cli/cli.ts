import { systemRuntime } from '#platform/system-runtime.ts';
import { runCommandLine } from './command-line.ts';

/*
 * The commands of `polyad` that talk to a server; `polyad.mjs` starts it.
 */

// Whoever reads our output may leave (`polyad sql ... | head`).
process.stdout.on('error', () => process.exit(0));
process.stderr.on('error', () => {});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  input: process.stdin,
  output: process.stdout,
  messages: process.stderr,
  environment: process.env,
  nowMs: systemRuntime.clock.monotonicMs,
});
