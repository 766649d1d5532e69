import type { Catalog } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';

interface Resolved {
  readonly all: readonly TypeId[];
  readonly byNames: Map<string, readonly TypeId[]>;
}

/** Per catalog value, which never changes; dropped with it. */
const resolved = new WeakMap<Catalog, Resolved>();
const nameListCountMax = 1_000;

/**
 * Concrete edge types behind names, subtypes included, each once in id order; no names stand for all edge types. Names
 * that are no edge type match nothing. Cost after the first call of a statement: one or two map look-ups.
 */
export function edgeTypesNamed(names: readonly string[], catalog: Catalog): readonly TypeId[] {
  let known = resolved.get(catalog);
  if (known === undefined) {
    known = { all: allEdgeTypes(catalog), byNames: new Map() };
    resolved.set(catalog, known);
  }
  if (names.length === 0) return known.all;
  // Type names hold no control characters, so a list of names is no single name.
  const key = names.length === 1 ? (names[0] as string) : `\u0000${JSON.stringify(names)}`;
  let types = known.byNames.get(key);
  if (types === undefined) {
    types = resolve(names, catalog);
    if (known.byNames.size >= nameListCountMax) known.byNames.clear();
    known.byNames.set(key, types);
  }
  return types;
}

function allEdgeTypes(catalog: Catalog): readonly TypeId[] {
  const types = catalog.types().filter((type) => type.kind === 'edge');
  return types.map((type) => type.id).sort((a, b) => a - b);
}

function resolve(names: readonly string[], catalog: Catalog): readonly TypeId[] {
  const types = new Set<TypeId>();
  for (const name of names) {
    const type = catalog.typeNamed(name);
    if (type?.kind !== 'edge') continue;
    for (const id of catalog.withSubtypes(type.id)) types.add(id);
  }
  return [...types].sort((a, b) => a - b);
}
