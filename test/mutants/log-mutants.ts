import { tests } from './finders.ts';
import type { Mutant } from './mutants.ts';

// Errors of the durable log.

const faults = tests('test/cluster/log-store/log-faults.test.ts');
const log = (file: string, from: string, to: string) => ({
  file: `server/cluster/log-store/${file}`,
  from,
  to,
});

export const logMutants: readonly Mutant[] = [
  {
    name: 'M45',
    says: 'every record that does not check is taken for a torn end',
    edits: [
      log(
        'log-recovery.ts',
        'if (isTorn && (!isNewest || hasLaterFlush(bytes, at + 8, seed)))',
        'if (isTorn && at < 0)',
      ),
    ],
    finder: faults,
  },
];
