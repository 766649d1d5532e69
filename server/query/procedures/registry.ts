import { graphAlgorithms } from './algorithms/registry.ts';
import { dbProcedures } from './db.ts';
import { loadCsvProcedure } from './load-csv.ts';
import { metaProcedures } from './meta.ts';
import { pathProcedures } from './paths/procedures.ts';
import { shortestPathProcedure } from './paths/shortest.ts';
import type { Procedure, ProcedureRegistry } from './procedure.ts';
import { refactorProcedures } from './refactor.ts';
import { searchProcedures } from './search.ts';
import { showProcedures } from './show.ts';
import { writtenProcedures } from './written.ts';

/** A registry to which names are added while it is used. */
export interface OpenProcedureRegistry extends ProcedureRegistry {
  /** Sorted by name, without those that no text can name. */
  all(): readonly Procedure[];
  /** @returns takes it away again */
  register(procedure: Procedure): () => void;
}

/** Names may carry this prefix (cypher.md 10). */
const optionalPrefix = 'apoc.';

function keyOf(name: string): string {
  const key = name.toLowerCase();
  return key.startsWith(optionalPrefix) ? key.slice(optionalPrefix.length) : key;
}

/** Languages and later rooms hand theirs in; a name may stand only once. */
export function procedureRegistry(procedures: readonly Procedure[] = []): OpenProcedureRegistry {
  const byName = new Map<string, Procedure>();
  const register = (procedure: Procedure): (() => void) => {
    const key = keyOf(procedure.name);
    if (byName.has(key)) throw new Error(`procedure '${procedure.name}' is registered twice`);
    byName.set(key, procedure);
    return () => {
      if (byName.get(key) === procedure) byName.delete(key);
    };
  };
  for (const procedure of procedures) register(procedure);
  return {
    procedure: (name) => byName.get(keyOf(name)),
    all: () =>
      [...byName.values()]
        .filter(({ name }) => !name.startsWith('#'))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    register,
  };
}

/** The procedures of this server. Analyzers check calls against their signatures. */
export const serverProcedures: OpenProcedureRegistry = procedureRegistry([
  ...dbProcedures,
  ...metaProcedures,
  loadCsvProcedure,
  shortestPathProcedure,
  ...pathProcedures,
  ...searchProcedures,
  ...refactorProcedures,
  ...writtenProcedures,
  ...graphAlgorithms,
  ...showProcedures(() => serverProcedures.all()),
]);
