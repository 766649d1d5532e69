import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import { type ByteText, shownBytes } from '#core/text/byte-text.ts';
import type { KeyValueStore } from './key-value-store.ts';
import type { LocateSpace } from './staged-keys.ts';

/**
 * A key whose name begins with that of a database: `db.key`. Names of databases may have dots themselves: the longest one counts.
 * Cost for keys without a dot: one look.
 */
export function splitKey(
  written: ByteText,
  isDatabase: (name: string) => boolean,
): { readonly database: string; readonly key: ByteText } | undefined {
  for (
    let dot = written.lastIndexOf('.', databaseNameLengthMax);
    dot > 0;
    dot = written.lastIndexOf('.', dot - 1)
  ) {
    const database = written.slice(0, dot);
    if (isDatabase(database)) return { database, key: written.slice(dot + 1) };
  }
  return undefined;
}

const databaseNameLengthMax = 256;

/**
 * Keys of a request that is for one database (house decision 68): those of another one are refused, but only to who may know that
 * there is such a database. Rights on the keys are asked for with the statement as a whole.
 */
export function keysOfRequest(options: {
  readonly store: KeyValueStore;
  readonly databaseName: string;
  readonly authorizer: Authorizer;
  readonly principal: Principal;
}): LocateSpace {
  const { store, databaseName, authorizer, principal } = options;
  const keys = store.ofDatabase(databaseName);
  const isKnown = (name: string) =>
    name === databaseName || (store.isDatabase(name) && authorizer.canAccess(principal, name));
  return (written) => {
    if (!written.includes('.')) return { keys, key: written };
    const split = splitKey(written, isKnown);
    if (split === undefined) return { keys, key: written };
    if (split.database === databaseName) return { keys, key: split.key };
    throw new DatabaseError(
      'IllegalArgument',
      `key '${shownBytes(written)}' is one of database '${split.database}'; this request is for '${databaseName}'`,
    );
  };
}
