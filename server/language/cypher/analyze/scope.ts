import type { Slot } from '#query/algebra/expression.ts';

/** What is known of a variable before anything runs. */
export type BindingKind = 'node' | 'relationship' | 'relationships' | 'path' | 'value';

export interface Binding {
  readonly slot: Slot;
  readonly kind: BindingKind;
}

/** The variables that a clause sees, by name. */
export type Scope = ReadonlyMap<string, Binding>;

export function withBindings(scope: Scope, bindings: Iterable<readonly [string, Binding]>): Scope {
  return new Map([...scope, ...bindings]);
}

export function slotsOfScope(scope: Scope): readonly Slot[] {
  return [...new Set([...scope.values()].map(({ slot }) => slot))];
}
