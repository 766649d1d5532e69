import type {
  Catalog,
  IndexDefinition,
  PropertyDefinition,
  TypeDefinition,
} from '#catalog/catalog.ts';
import { isCheckedKind, isSearchKind } from '#catalog/search-index.ts';
import type { TypeId } from '#core/value/rid.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';

/** A key of this many components may exceed the length limit although each component is cut (storage.md 3.4). */
const longKeyComponents = 4;

/** What writing a record of one type involves, worked out once per schema version. */
export interface WriteRules {
  readonly type: TypeDefinition;
  /** Declared ones, inherited ones among them. */
  readonly properties: ReadonlyMap<string, PropertyDefinition>;
  /** Properties with a DEFAULT, and its text. */
  readonly defaults: readonly { readonly name: string; readonly source: string }[];
  readonly uniqueIndexes: readonly IndexKeys[];
  /** Indexes that refuse nulls (`NULL_STRATEGY ERROR`) or values that they cannot hold. */
  readonly refusing: readonly IndexKeys[];
  /** Indexes whose keys may be too long; they are made once before the commit, where the error belongs. */
  readonly longKeyed: readonly IndexKeys[];
  /** Properties from which keys of these indexes are made. */
  readonly keyedProperties: ReadonlySet<string>;
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
    const uniqueIndexes = keysFor((index) => index.unique);
    const refusing = keysFor(
      (index) => index.nullStrategy === 'ERROR' || isCheckedKind(index.kind),
    );
    const longKeyed = keysFor(
      (i) => !i.unique && !isSearchKind(i.kind) && i.components.length >= longKeyComponents,
    );
    const rules: WriteRules = {
      type: catalog.typeWithId(id),
      properties: catalog.properties(id),
      defaults,
      uniqueIndexes,
      refusing,
      longKeyed,
      keyedProperties: new Set(
        [...uniqueIndexes, ...refusing, ...longKeyed].flatMap(({ definition }) =>
          definition.components.map(({ property }) => property.split('.')[0] as string),
        ),
      ),
    };
    this.#rules.set(id, rules);
    return rules;
  }
}
