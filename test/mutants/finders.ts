import type { Finder } from './mutants.ts';

/** The scripts of the rules. */
export const rules: Finder = ['--test', '--test-isolation=none', 'test/raft/rules/rules.test.ts'];

/** The core beside its specification. */
export const walks: Finder = [
  'test/raft/specification/run.ts',
  '--states',
  '10',
  '--walks',
  '1000',
];

export function tests(file: string, title?: string): Finder {
  const named = title === undefined ? [] : [`--test-name-pattern=${title}`];
  return ['--test', '--test-isolation=none', '--test-timeout=60000', ...named, file];
}
