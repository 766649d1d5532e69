import { availableParallelism } from 'node:os';
import { takesShortcut } from './shortcuts.ts';

/** With fewer cores than this, whoever helps to collect garbage takes the core that somebody else needs. */
const coresForHelpers = 4;
/** Of the young generation, in MiB; the platform's own choice is 16 to 32. */
export const halfSpaceOnFewCores = 4;

const halfSpaceOption = /--max[-_]semi[-_]space[-_]size/;
const helpersOption = /--v8[-_]pool[-_]size/;

/** Whether the young generation is to be small and its helpers one. */
export function hasFewCores(cores: number): boolean {
  return cores < coresForHelpers && takesShortcut('young-generation');
}

/**
 * Options of the platform for a server on few cores, beside those of its environment and of its own line: what is chosen there stays.
 *
 * A collection of young garbage stops everything for as long as what survives takes to be copied, and what a long body is parsed to
 * survives. A small half space bounds that: 17 ms are 3. With one thread that helps instead of four the main thread does not
 * wait for helpers that have no core.
 */
export function youngGenerationOptions(
  nodeOptions: string,
  ownOptions: readonly string[],
  cores = availableParallelism(),
): readonly string[] {
  if (!hasFewCores(cores)) return [];
  const chosen = [nodeOptions, ...ownOptions].join(' ');
  const options: string[] = [];
  if (!halfSpaceOption.test(chosen)) options.push(`--max-semi-space-size=${halfSpaceOnFewCores}`);
  if (!helpersOption.test(chosen)) options.push('--v8-pool-size=1');
  return options;
}
