import { foldAscii } from '#core/case-folding.ts';
import type {
  AggregateFunction,
  FunctionRegistry,
  ScalarFunction,
} from '#query/evaluate/function-definition.ts';
import { collectingAggregates } from './aggregates/collecting.ts';
import { logicalAggregates } from './aggregates/logical.ts';
import { numericAggregates } from './aggregates/numeric.ts';
import { scalarForms } from './aggregates/scalar-forms.ts';
import { collectionFunctions, collectionMethods } from './collections.ts';
import { conditionalFunctions, conditionalMethods } from './conditional.ts';
import { conversionMethods } from './conversion.ts';
import { encodingFunctions, encodingMethods } from './encoding.ts';
import { selectionMethods } from './field-selection.ts';
import { graphFunctions, graphMethods } from './graph.ts';
import { mathFunctions } from './math.ts';
import { closestName } from './spelling.ts';
import { temporalFunctions, temporalMethods } from './temporal.ts';
import { textMethods } from './text.ts';
import { transformMethod } from './transform.ts';

/** One row of the documentation of functions; methods are listed without the leading dot. */
export interface FunctionDocumentation {
  readonly name: string;
  readonly syntax: string;
  readonly kind: 'function' | 'aggregate' | 'method';
  readonly isDeterministic: boolean;
}

const scalars = new Map<string, ScalarFunction>();
const aggregates = new Map<string, AggregateFunction>();

for (const family of [numericAggregates, collectingAggregates, logicalAggregates]) {
  for (const definition of family) aggregates.set(foldAscii(definition.name), definition);
  register(scalarForms(family));
}
register(mathFunctions);
register(conditionalFunctions);
register(conditionalMethods);
register(encodingFunctions);
register(encodingMethods);
register(collectionFunctions);
register(collectionMethods);
register(selectionMethods);
register(conversionMethods);
register(textMethods);
register(temporalFunctions);
register(temporalMethods);
register(graphFunctions);
register(graphMethods);
register([transformMethod((name) => scalars.get(`.${foldAscii(name)}`))]);

function register(definitions: readonly ScalarFunction[]): void {
  for (const definition of definitions) scalars.set(foldAscii(definition.name), definition);
}

/** Namespaced names may carry this prefix (sql-functions.md 0.1). */
const optionalPrefix = 'apoc.';

function keyOf(name: string): string {
  const key = foldAscii(name);
  return key.startsWith(optionalPrefix) ? key.slice(optionalPrefix.length) : key;
}

/** All built-in functions, aggregates and methods. Shared: definitions have no state. */
export const functionRegistry: FunctionRegistry = {
  scalar: (name) => scalars.get(keyOf(name)),
  aggregate: (name) => aggregates.get(keyOf(name)),
  suggest: (name) => closestName(keyOf(name), knownNames()),
};

/** Canonical names; of methods with the leading dot. */
function knownNames(): readonly string[] {
  return [...new Set([...scalars.values(), ...aggregates.values()].map(({ name }) => name))];
}

/** Everything that is registered, sorted by kind and name, for documentation and its tests. */
export function documentedFunctions(): readonly FunctionDocumentation[] {
  const rows: FunctionDocumentation[] = [];
  for (const { name, syntax, isDeterministic } of scalars.values()) {
    const isMethod = name.startsWith('.');
    rows.push({
      name: isMethod ? name.slice(1) : name,
      syntax: isMethod && syntax.startsWith('.') ? syntax.slice(1) : syntax,
      kind: isMethod ? 'method' : 'function',
      isDeterministic,
    });
  }
  for (const { name, syntax } of aggregates.values())
    rows.push({ name, syntax, kind: 'aggregate', isDeterministic: true });
  const order = (row: FunctionDocumentation) => `${row.kind} ${row.name.toLowerCase()}`;
  return rows.sort((a, b) => (order(a) < order(b) ? -1 : 1));
}
