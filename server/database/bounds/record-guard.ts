import type { Authorizer, Principal } from '#core/principal.ts';
import type { Rid } from '#core/value/rid.ts';
import { GuardedView, type ReadRights } from '#transaction/read/guarded-view.ts';
import { typeOfRid } from '#transaction/read/holding-bucket.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

const reading = new Set(['read'] as const);

/** Keeps statements from records that their callers may not read or write. Reading costs those nothing who may read everything. */
export class RecordGuard {
  readonly #authorizer: Authorizer;
  readonly #database: string;

  constructor(authorizer: Authorizer, database: string) {
    this.#authorizer = authorizer;
    this.#database = database;
  }

  /** Whether the caller may read all records, whatever their type. */
  readsAll(who: Principal): boolean {
    return this.#rightsOf(who) === undefined;
  }

  /** What a statement of the caller may read of a view. */
  guarded(view: ReadView, who: Principal): ReadView {
    const rights = this.#rightsOf(who);
    return rights === undefined ? view : new GuardedView(view, rights);
  }

  /** What is asked before a record is changed or deleted; undefined: nothing. */
  requireWrite(who: Principal): ((effect: 'update' | 'delete', type: string) => void) | undefined {
    if (who.isRoot) return undefined;
    const allowed = new Set<string>();
    return (effect, type) => {
      const right = `${effect} ${type}`;
      if (allowed.has(right)) return;
      this.#authorizer.require(who, this.#database, { effects: new Set([effect]), types: [type] });
      allowed.add(right);
    };
  }

  /** Whether a result may show a record that the statement has not read; undefined: any. */
  shown(who: Principal): ((view: ReadView, rid: Rid) => boolean) | undefined {
    const rights = this.#rightsOf(who);
    if (rights === undefined) return undefined;
    return (view, rid) => {
      const type = typeOfRid(view, rid);
      return type === undefined || rights.canRead(view.catalog.typeWithId(type).name);
    };
  }

  #rightsOf(who: Principal): ReadRights | undefined {
    const authorizer = this.#authorizer;
    const database = this.#database;
    if (who.isRoot || authorizer.canRead(who, database)) return undefined;
    return {
      canRead: (type) => authorizer.canRead(who, database, type),
      requireRead: (type) => authorizer.require(who, database, { effects: reading, types: [type] }),
    };
  }
}
