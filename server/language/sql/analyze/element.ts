import type { Slot } from '#query/algebra/expression.ts';
import type { ElementScope } from '#query/binder/scope.ts';
import type { Analysis, Environment } from './analysis.ts';

/** A scope for the elements of a list, which stand in one slot one after the other. */
export function elementScope(
  analysis: Analysis,
  env: Environment,
): { readonly scope: ElementScope; readonly element: Slot } {
  const element = analysis.slots.next();
  const scope: ElementScope = {
    kind: 'element',
    parent: env.scope,
    level: env.scope.level + 1,
    row: { kind: 'value', slot: element },
    isCurrent: false,
    bindings: new Map(),
  };
  return { scope, element };
}

/** Names are looked up in the element alone. */
export function elementEnvironment(scope: ElementScope): Environment {
  return { scope, row: scope.row, names: undefined, aggregation: undefined, isLazy: false };
}
