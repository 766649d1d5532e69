import type { Procedure, ProcedureRegistry } from './procedure.ts';

/** The procedures of one server. Languages and later rooms hand theirs in; a name may stand only once. */
export function procedureRegistry(procedures: readonly Procedure[] = []): ProcedureRegistry {
  const byName = new Map<string, Procedure>();
  for (const procedure of procedures) {
    const name = procedure.name.toLowerCase();
    if (byName.has(name)) throw new Error(`procedure '${procedure.name}' is registered twice`);
    byName.set(name, procedure);
  }
  return { procedure: (name) => byName.get(name.toLowerCase()) };
}
