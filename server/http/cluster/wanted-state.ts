import type { ReadConsistency, WantedState } from '#cluster/reads/read-barrier.ts';
import { badRequest } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';

const levels: readonly string[] = ['eventual', 'read_your_writes', 'linearizable'];
const nothingWanted: WantedState = { level: undefined, bookmark: undefined };

/**
 * What the headers of a request say of the state that it wants to see (ha.md 7.1). Checked on servers without replication, too,
 * which always show what was committed last.
 * @throws HttpRefusal 400
 */
export function wantedState({ request: { headers } }: Exchange): WantedState {
  const level = headers['x-service-read-consistency'];
  const after = headers['x-service-read-after'];
  const legacy = headers['x-service-commit-index'];
  if (level === undefined && after === undefined && legacy === undefined) return nothingWanted;
  const bookmark = bookmarkOf('X-Service-Read-After', after);
  return {
    level: levelOf(level),
    bookmark: bookmark ?? bookmarkOf('X-Service-Commit-Index', legacy),
  };
}

/** Resolves when this server may answer a read; undefined: at once. @throws HttpRefusal 400; DatabaseError */
export function beforeRead(exchange: Exchange): Promise<void> | undefined {
  const { cluster } = exchange.door;
  if (cluster === undefined) return undefined;
  const wanted = wantedState(exchange);
  const isPlain = wanted.level === undefined && wanted.bookmark === undefined;
  // The signal is made when it is asked for, and short reads do not wait.
  return cluster.reads.before(wanted, isPlain ? undefined : exchange.connection.signal);
}

function levelOf(given: string | string[] | undefined): ReadConsistency | undefined {
  if (given === undefined) return undefined;
  const level = String(given).trim().toLowerCase();
  if (levels.includes(level)) return level as ReadConsistency;
  throw badRequest(
    `Header X-Service-Read-Consistency is '${printable(String(given))}'; use ${levels.join(', ')}`,
  );
}

function bookmarkOf(name: string, given: string | string[] | undefined): number | undefined {
  const text = String(given ?? '').trim();
  if (text === '') return undefined;
  const index = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(index)) return index;
  throw badRequest(`Header ${name} is '${printable(text)}'; it must be a commit index`);
}

/** Fit for a message: short and without what steers a terminal. */
export function printable(text: string): string {
  return text.slice(0, 100).replaceAll(/[\u0000-\u001f\u007f]/g, '?');
}
