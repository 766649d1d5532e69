import type { Effect } from './effects.ts';

/** Who asks. */
export interface Principal {
  readonly name: string;
  readonly isRoot: boolean;
  readonly via: 'password' | 'token' | 'api-token' | 'peer' | 'stdio';
}

/** What a statement may touch; `types` is undefined for the database as a whole. */
export interface Access {
  readonly effects: ReadonlySet<Effect>;
  readonly types: readonly string[] | undefined;
}

export interface Authorizer {
  /** @throws DatabaseError `Forbidden` */
  require(who: Principal, database: string, access: Access): void;
  canAccess(who: Principal, database: string): boolean;
  /** Whether records of the type may be read, of every type when none is named. */
  canRead(who: Principal, database: string, type?: string): boolean;
}
