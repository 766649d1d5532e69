import type { Slot } from '#query/algebra/expression.ts';

/** What is known of a variable before anything runs. */
export type BindingKind = 'node' | 'relationship' | 'relationships' | 'path' | 'value';

export interface Binding {
  readonly slot: Slot;
  readonly kind: BindingKind;
  /** Of a value, where more is known. */
  readonly type?: StaticKind | undefined;
}

/** What is known of a value before anything runs: enough to refuse what can never be right. */
export type StaticKind =
  | 'any'
  | 'null'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'string'
  | 'list'
  | 'map'
  | 'node'
  | 'relationship'
  | 'path'
  | 'temporal';

/** The variables that a clause sees, by name. */
export type Scope = ReadonlyMap<string, Binding>;

export function withBindings(scope: Scope, bindings: Iterable<readonly [string, Binding]>): Scope {
  const all = new Map(scope);
  for (const [name, binding] of bindings) all.set(name, binding);
  return all;
}

export function slotsOfScope(scope: Scope): readonly Slot[] {
  return [...new Set([...scope.values()].map(({ slot }) => slot))];
}
