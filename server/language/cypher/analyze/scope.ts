import type { Slot } from '#query/algebra/expression.ts';
import type { StaticKind } from './static-kind.ts';

/** What is known of a variable before anything runs. */
export type BindingKind = 'node' | 'relationship' | 'relationships' | 'path' | 'value';

export interface Binding {
  readonly slot: Slot;
  readonly kind: BindingKind;
  /** Of a value, where more is known. */
  readonly type?: StaticKind;
}

/** The variables that a clause sees, by name. */
export type Scope = ReadonlyMap<string, Binding>;

export function withBindings(scope: Scope, bindings: Iterable<readonly [string, Binding]>): Scope {
  return new Map([...scope, ...bindings]);
}

export function slotsOfScope(scope: Scope): readonly Slot[] {
  return [...new Set([...scope.values()].map(({ slot }) => slot))];
}
