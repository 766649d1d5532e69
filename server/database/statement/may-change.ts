import { DatabaseError } from '#core/errors.ts';
import type { Compiled } from './compiler.ts';

/** Operations that only copy the database elsewhere. */
const copyingOperations: ReadonlySet<string> = new Set(['backup database', 'export database']);

/** Whether what is not only a read changes the database: plans that are shown and copies to elsewhere do not. */
export function mayChange(compiled: Compiled): boolean {
  if (compiled.kind === 'operation') return !copyingOperations.has(compiled.program.name);
  if (compiled.kind === 'commands') return compiled.writesRecords;
  return compiled.kind === 'script' || compiled.program.inspect !== 'explain';
}

/** What a caller may send who asks for queries alone; the plan of anything may be looked at. */
export function isQuery(compiled: Compiled): boolean {
  if (compiled.kind !== 'statement') return compiled.isReadOnly;
  const { inspect, isCommand } = compiled.program;
  return inspect === 'explain' || (compiled.isReadOnly && isCommand !== true);
}

/** @throws DatabaseError `IllegalArgument` for what would commit a part of the transaction that it is sent in (cypher.md 3.1) */
export function requireOneTransaction(compiled: Compiled): void {
  if (compiled.kind === 'statement' && compiled.commitsInBatches)
    throw new DatabaseError(
      'IllegalArgument',
      'CALL { } IN TRANSACTIONS commits by itself: it cannot run inside of a transaction',
    );
}
