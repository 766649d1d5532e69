/** What executing something may do. Derived from programs by `query/algebra/effects.ts`, declared by nobody. */
export type Effect =
  | 'read'
  | 'insert'
  | 'update'
  | 'delete'
  | 'schema'
  | 'settings'
  /** Of a damaged database, by what its tools think is right. */
  | 'repair'
  | 'security'
  | 'admin';

export const readOnly: ReadonlySet<Effect> = new Set<Effect>(['read']);

export function isReadOnly(effects: ReadonlySet<Effect>): boolean {
  for (const effect of effects) if (effect !== 'read') return false;
  return true;
}
