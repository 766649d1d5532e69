/*
 * What the image runs: `container.ts [argument...]` becomes the server with a heap that fits into the container, and
 * `container.ts --health` asks the server of this container whether it is alive. Imports nothing before it listens: until a
 * process 1 listens to SIGTERM, it does not get it.
 */

process.once('SIGTERM', () => process.exit(0));

const { join } = await import('node:path');
const { containerLimitBytes, heapOptions, isHeapPinned, parseHeapPercent, withMemoryVariables } =
  await import('#platform/container-memory.ts');
const { youngGenerationOptions } = await import('#platform/young-generation.ts');

const mainScript = join(import.meta.dirname, 'main.ts');

const commandLine = process.argv.slice(2);
if (commandLine[0] === '--health') await reportHealth();
else await becomeServer();

/** Exit code 0 when the server is alive, else 1. */
async function reportHealth(): Promise<void> {
  const { checkHealth } = await import('#http/health-check.ts');
  const problem = await checkHealth();
  if (problem !== undefined) console.error(`polyad: ${problem}`);
  process.exit(problem === undefined ? 0 : 1);
}

/** The server is this process: it has number 1 in the container and gets the signals. */
async function becomeServer(): Promise<void> {
  const percentText = process.env['POLYAD_HEAP_PERCENT'];
  const percent = parseHeapPercent(percentText);
  if (percent === undefined) {
    console.error(
      `polyad: POLYAD_HEAP_PERCENT '${percentText}' must be a whole number from 10 to 90`,
    );
    process.exit(1);
  }
  const options = [...process.execArgv, ...optionsFor(percent)];
  const line = [process.execPath, ...options, mainScript, ...commandLine];
  // A signal that was caught is told in a turn of the event loop, which the process after this one would not have.
  await aTurn();
  process.execve?.(process.execPath, line, withMemoryVariables(process.env));
}

async function aTurn(): Promise<void> {
  const { systemRuntime } = await import('#platform/system-runtime.ts');
  await systemRuntime.timers.yield();
}

/** Without a limit the heap as a whole is left alone: a share of the whole machine would be wrong (house decision 4). */
function optionsFor(percent: number): readonly string[] {
  const limitBytes = containerLimitBytes();
  const nodeOptions = process.env['NODE_OPTIONS'] ?? '';
  const isPinned = isHeapPinned(nodeOptions, process.execArgv);
  const ofHeap = limitBytes === undefined || isPinned ? [] : heapOptions(limitBytes, percent);
  return [...ofHeap, ...youngGenerationOptions(nodeOptions, [...process.execArgv, ...ofHeap])];
}
