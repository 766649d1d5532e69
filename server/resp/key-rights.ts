import { DatabaseError } from '#core/errors.ts';
import type { Access, Authorizer, Principal } from '#core/principal.ts';
import { type ByteText, shownBytes } from '#core/text/byte-text.ts';
import { transientAccess } from '#database/key-value/compiled-commands.ts';
import type { KeySpace, KeyValueStore } from '#database/key-value/key-value-store.ts';
import { splitKey } from '#database/key-value/located-keys.ts';
import type { Touch } from '#database/key-value/transient-operations.ts';
import type { DatabasesPort } from '#database/session.ts';

/** Judges by rights that may change; `revision` says when they did. */
export interface RevisedAuthorizer extends Authorizer {
  readonly revision: number;
}

export interface RightsOptions {
  readonly databases: Pick<DatabasesPort, 'exists' | 'names'>;
  readonly store: KeyValueStore;
  readonly authorizer: RevisedAuthorizer;
}

/** Names of databases are such, so other keys with a dot in them hide nothing. */
const databaseName = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;

/**
 * What a user may do on the wire, and on which database: that of the prefix, else the one that the connection has selected, else,
 * for transient keys, the server. Somebody who may not use a database is not told whether there is one.
 */
export class KeyRights {
  readonly #options: RightsOptions;
  readonly #principal: Principal;
  readonly #allowed = new Map<string, boolean>();
  #revision = -1;

  constructor(options: RightsOptions, principal: Principal) {
    this.#options = options;
    this.#principal = principal;
  }

  /** @throws DatabaseError `Forbidden`, `DatabaseNotFound` */
  locate(
    written: ByteText,
    touch: Touch,
    selected: string | undefined,
  ): { readonly keys: KeySpace; readonly key: ByteText } {
    const split = written.includes('.') ? this.#split(written) : undefined;
    const database = split === undefined ? selected : split.database;
    this.#requireKeys(database, touch);
    const { store } = this.#options;
    // The one that was selected may be gone since.
    if (split === undefined && database !== undefined && !store.isDatabase(database))
      throw missing(database);
    const keys = database === undefined ? store.ofServer : store.ofDatabase(database);
    return { keys, key: split === undefined ? written : split.key };
  }

  /**
   * The database that the address of a command on records names.
   * @throws DatabaseError `Forbidden`, `DatabaseNotFound`, `IllegalArgument`
   */
  databaseOf(address: ByteText, selected: string | undefined): string {
    const database = this.#named(address) ?? selected;
    if (database !== undefined) {
      this.requireDatabase(database);
      return database;
    }
    const name = (address.split('[', 1)[0] ?? '').split('.', 1)[0] ?? '';
    if (address.startsWith('#') || name === '')
      throw new DatabaseError(
        'IllegalArgument',
        'no database is selected: use SELECT <database>, or <database>.<Type>',
      );
    this.requireDatabase(name);
    throw missing(name);
  }

  #named(address: ByteText): string | undefined {
    if (address.startsWith('#')) return undefined;
    const bracket = address.indexOf('[');
    const name = bracket < 0 ? address : address.slice(0, bracket);
    if (this.#options.databases.exists(name)) return name;
    return name.includes('.') ? this.#split(name)?.database : undefined;
  }

  /** @throws DatabaseError `Forbidden`, `DatabaseNotFound` */
  requireSelectable(name: string): void {
    this.requireDatabase(name);
    if (!this.#options.databases.exists(name)) throw missing(name);
  }

  /** @throws DatabaseError `Forbidden` */
  requireDatabase(name: string): void {
    if (this.#principal.isRoot || this.#options.authorizer.canAccess(this.#principal, name)) return;
    throw new DatabaseError(
      'Forbidden',
      `this user has no permissions to access the database '${shownBytes(name)}'`,
    );
  }

  #split(written: ByteText) {
    const { store } = this.#options;
    const split = splitKey(written, store.isDatabase);
    if (split !== undefined || this.#principal.isRoot) return split;
    const prefix = written.slice(0, written.indexOf('.'));
    // One answer for databases that are not there and for those of others.
    if (databaseName.test(prefix)) this.requireDatabase(prefix);
    return undefined;
  }

  #requireKeys(database: string | undefined, touch: Touch): void {
    if (this.#principal.isRoot) return;
    const { authorizer } = this.#options;
    if (this.#revision !== authorizer.revision) {
      this.#allowed.clear();
      this.#revision = authorizer.revision;
    }
    const right = `${touch} ${database ?? ''}`;
    if (this.#allowed.has(right)) return;
    if (database === undefined) this.#requireOnServer(touch);
    else {
      this.requireDatabase(database);
      authorizer.require(this.#principal, database, transientAccess[touch]);
    }
    this.#allowed.set(right, true);
  }

  /** Keys of the server belong to no database: who may do as much on one of them may do it there. */
  #requireOnServer(touch: Touch): void {
    const { databases } = this.#options;
    const access = transientAccess[touch];
    if (databases.names().some((name) => this.#may(name, access))) return;
    throw new DatabaseError(
      'Forbidden',
      `this user has no permissions to ${touch} keys of the server; select a database`,
    );
  }

  #may(database: string, access: Access): boolean {
    const { authorizer } = this.#options;
    if (!authorizer.canAccess(this.#principal, database)) return false;
    try {
      authorizer.require(this.#principal, database, access);
      return true;
    } catch {
      return false;
    }
  }
}

function missing(name: string): DatabaseError {
  return new DatabaseError('DatabaseNotFound', `Database '${shownBytes(name)}' not found`);
}
