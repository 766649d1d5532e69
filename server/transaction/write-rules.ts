import type { Catalog, IndexDefinition, TypeDefinition } from '#catalog/catalog.ts';
import type { TypeId } from '#core/rid.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';

/** A key of this many components may exceed the length limit although each component is cut (storage.md 3.4). */
const longKeyComponents = 4;

/** What writing a record of one type involves, worked out once per schema version. */
export interface WriteRules {
  readonly type: TypeDefinition;
  /** Properties with a DEFAULT, and its text. */
  readonly defaults: readonly { readonly name: string; readonly source: string }[];
  readonly uniqueIndexes: readonly IndexKeys[];
  /** Indexes that refuse nulls (`NULL_STRATEGY ERROR`). */
  readonly nullRefusing: readonly IndexKeys[];
  /** Indexes whose keys may be too long; they are made once before the commit, where the error belongs. */
  readonly longKeyed: readonly IndexKeys[];
}

/** The rules of all types of a catalog, made on demand. */
export class WriteRuleBook {
  readonly catalog: Catalog;
  readonly #rules = new Map<TypeId, WriteRules>();

  constructor(catalog: Catalog) {
    this.catalog = catalog;
  }

  /** @throws DatabaseError `Schema` for a type that is not in the catalog */
  rulesOf(id: TypeId): WriteRules {
    const known = this.#rules.get(id);
    if (known !== undefined) return known;
    const { catalog } = this;
    const indexes = catalog.indexesOn(id);
    const keysFor = (wanted: (index: IndexDefinition) => boolean) =>
      indexes.filter(wanted).map((index) => new IndexKeys(index));
    const defaults: { name: string; source: string }[] = [];
    for (const property of catalog.properties(id).values()) {
      if (property.default !== undefined) {
        defaults.push({ name: property.name, source: property.default });
      }
    }
    const rules: WriteRules = {
      type: catalog.typeWithId(id),
      defaults,
      uniqueIndexes: keysFor((index) => index.unique),
      nullRefusing: keysFor((index) => index.nullStrategy === 'ERROR'),
      longKeyed: keysFor((i) => !i.unique && i.components.length >= longKeyComponents),
    };
    this.#rules.set(id, rules);
    return rules;
  }
}
