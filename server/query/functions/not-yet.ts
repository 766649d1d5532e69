import { DatabaseError } from '#core/errors.ts';
import type { ScalarFunction } from '../evaluate/function-definition.ts';
import { ANY_NUMBER, scalar } from './define.ts';

/**
 * Functions that need a store that does not exist yet (time series). They are known by
 * name, so that a statement is refused with the reason and not with a spelling hint.
 */
export const notYetFunctions: readonly ScalarFunction[] = ['promql'].map((name) =>
  scalar(`${name}(...)`, [0, ANY_NUMBER], () => {
    throw new DatabaseError('NotSupported', `not supported yet: ${name}`);
  }),
);
