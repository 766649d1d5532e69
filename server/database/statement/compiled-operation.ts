import type { Effect } from '#core/effects.ts';
import type { Access } from '#core/principal.ts';
import type { OperationProgram } from '#query/algebra/program.ts';

const securityOnly: ReadonlySet<Effect> = new Set<Effect>(['security']);

/** `updateSecurity` on the database, whatever the rights on types (security.md 4.3). */
export const operationAccesses: readonly Access[] = [{ effects: securityOnly, types: undefined }];

/** A statement that is no plan: it works on the database as a whole, outside of transactions. */
export class CompiledOperation {
  readonly kind = 'operation';
  readonly isReadOnly = false;
  readonly program: OperationProgram;
  readonly accesses = operationAccesses;

  constructor(program: OperationProgram) {
    this.program = program;
  }
}
