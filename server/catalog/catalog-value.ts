import { DatabaseError } from '#core/errors.ts';
import type { BucketId, IndexId, PropertyId, TypeId } from '#core/value/rid.ts';
import type {
  BucketDefinition,
  Catalog,
  IndexDefinition,
  PropertyDefinition,
  TypeDefinition,
} from './catalog.ts';
import { type DefinitionParts, Definitions, noDefinitions } from './definitions.ts';
import { didYouMean } from './name-rules.ts';

/** Everything a catalog consists of; what the schema document stores (`catalog-codec.ts`). */
export interface CatalogParts {
  readonly version: number;
  /** Ids are never given twice, so that a stale record id or key cannot point into something new. */
  readonly nextTypeId: number;
  readonly nextBucketId: number;
  readonly nextIndexId: number;
  /** Names of declared properties; the place in the list is the property id. */
  readonly propertyNames: readonly string[];
  /** In id order. */
  readonly types: readonly TypeDefinition[];
  readonly buckets: readonly BucketDefinition[];
  readonly indexes: readonly IndexDefinition[];
  readonly definitions: DefinitionParts;
}

/**
 * The catalog as a value: plain parts plus lookup tables, filled on first use and valid for ever because nothing changes.
 * Make the next one with `applyChange`.
 */
export class CatalogValue implements Catalog {
  readonly parts: CatalogParts;
  readonly definitions: Definitions;
  readonly #typesByName = new Map<string, TypeDefinition>();
  readonly #typesById = new Map<TypeId, TypeDefinition>();
  readonly #bucketsByName = new Map<string, BucketDefinition>();
  readonly #bucketsById = new Map<BucketId, BucketDefinition>();
  readonly #indexesByName = new Map<string, IndexDefinition>();
  readonly #indexesById = new Map<IndexId, IndexDefinition>();
  readonly #propertyIds = new Map<string, PropertyId>();
  readonly #windows = new Map<BucketId, Map<TypeId, BucketId>>();
  readonly #lineages = new Map<TypeId, readonly TypeId[]>();
  readonly #subtypes = new Map<TypeId, readonly TypeId[]>();
  readonly #properties = new Map<TypeId, ReadonlyMap<string, PropertyDefinition>>();
  readonly #indexesOn = new Map<TypeId, readonly IndexDefinition[]>();

  constructor(parts: CatalogParts) {
    this.parts = parts;
    this.definitions = new Definitions(parts.definitions);
    for (const type of parts.types) {
      this.#typesById.set(type.id, type);
      this.#typesByName.set(type.name, type);
      for (const alias of type.aliases) this.#typesByName.set(alias, type);
    }
    for (const bucket of parts.buckets) {
      this.#bucketsByName.set(bucket.name, bucket);
      this.#bucketsById.set(bucket.id, bucket);
      this.#noteWindow(bucket);
    }
    for (const index of parts.indexes) {
      this.#indexesByName.set(index.name, index);
      this.#indexesById.set(index.id, index);
    }
    parts.propertyNames.forEach((name, id) => {
      this.#propertyIds.set(name, id as PropertyId);
    });
  }

  #noteWindow({ id, type, windowOn }: BucketDefinition): void {
    if (windowOn === undefined || type === undefined) return;
    const windows = this.#windows.get(windowOn) ?? new Map<TypeId, BucketId>();
    this.#windows.set(windowOn, windows.set(type, id));
  }

  get hasWindows(): boolean {
    return this.#windows.size > 0;
  }

  windowsOn(bucket: BucketId): ReadonlyMap<TypeId, BucketId> | undefined {
    return this.#windows.get(bucket);
  }

  get version(): number {
    return this.parts.version;
  }

  types(): readonly TypeDefinition[] {
    return this.parts.types;
  }

  typeNamed(name: string): TypeDefinition | undefined {
    return this.#typesByName.get(name);
  }

  typeWithId(id: TypeId): TypeDefinition {
    const type = this.#typesById.get(id);
    if (type === undefined) throw new DatabaseError('Schema', `Type with id ${id} was not found`);
    return type;
  }

  withSubtypes(id: TypeId): readonly TypeId[] {
    const cached = this.#subtypes.get(id);
    if (cached !== undefined) return cached;
    const found = this.parts.types
      .filter((type) => this.lineage(type.id).includes(id))
      .map((type) => type.id);
    this.#subtypes.set(id, found);
    return found;
  }

  isSubtype(id: TypeId, of: TypeId): boolean {
    return id === of || this.lineage(id).includes(of);
  }

  /** The type itself, then its supertypes in declaration order, depth first, each once. */
  lineage(id: TypeId): readonly TypeId[] {
    const cached = this.#lineages.get(id);
    if (cached !== undefined) return cached;
    const seen = new Set<TypeId>();
    const pending = [id];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      const supertypes = this.#typesById.get(next)?.supertypes ?? [];
      for (let i = supertypes.length - 1; i >= 0; i--) pending.push(supertypes[i] as TypeId);
    }
    const lineage = [...seen];
    this.#lineages.set(id, lineage);
    return lineage;
  }

  property(type: TypeId, name: string): PropertyDefinition | undefined {
    return this.properties(type).get(name);
  }

  properties(type: TypeId): ReadonlyMap<string, PropertyDefinition> {
    const cached = this.#properties.get(type);
    if (cached !== undefined) return cached;
    const all = new Map<string, PropertyDefinition>();
    for (const ancestor of this.lineage(type)) {
      for (const [name, property] of this.#typesById.get(ancestor)?.properties ?? []) {
        if (!all.has(name)) all.set(name, property);
      }
    }
    this.#properties.set(type, all);
    return all;
  }

  buckets(): readonly BucketDefinition[] {
    return this.parts.buckets;
  }

  bucketNamed(name: string): BucketDefinition | undefined {
    return this.#bucketsByName.get(name);
  }

  bucketWithId(id: BucketId): BucketDefinition | undefined {
    return this.#bucketsById.get(id);
  }

  indexes(): readonly IndexDefinition[] {
    return this.parts.indexes;
  }

  indexNamed(name: string): IndexDefinition | undefined {
    return this.#indexesByName.get(name);
  }

  indexWithId(id: IndexId): IndexDefinition {
    const index = this.#indexesById.get(id);
    if (index === undefined) throw new DatabaseError('Schema', `Index with id ${id} was not found`);
    return index;
  }

  indexesOn(type: TypeId): readonly IndexDefinition[] {
    const cached = this.#indexesOn.get(type);
    if (cached !== undefined) return cached;
    const lineage = this.lineage(type);
    const found = this.parts.indexes.filter((index) => lineage.includes(index.type));
    this.#indexesOn.set(type, found);
    return found;
  }

  propertyId(name: string): PropertyId | undefined {
    return this.#propertyIds.get(name);
  }

  propertyName(id: PropertyId): string {
    const name = this.parts.propertyNames[id];
    if (name === undefined) {
      throw new DatabaseError('Schema', `Property with id ${id} was not found`);
    }
    return name;
  }
}

/** The catalog of a database in which nothing was declared yet. */
export function emptyCatalog(): CatalogValue {
  return new CatalogValue({
    version: 0,
    nextTypeId: 1,
    nextBucketId: 1,
    nextIndexId: 1,
    propertyNames: [],
    types: [],
    buckets: [],
    indexes: [],
    definitions: noDefinitions,
  });
}

/**
 * The type of that name or alias.
 * @throws DatabaseError `Schema` `Type with name '<t>' was not found` (sql.md 4), with a hint when a name is close
 */
export function requireType(catalog: Catalog, name: string): TypeDefinition {
  const type = catalog.typeNamed(name);
  if (type !== undefined) return type;
  throw new DatabaseError(
    'Schema',
    `Type with name '${name}' was not found`,
    typeHint(catalog, name),
  );
}

/** `help` of an error about an unknown type name. */
export function typeHint(catalog: Catalog, name: string): { help?: string } {
  const names = catalog.types().flatMap((type) => [type.name, ...type.aliases]);
  const help = didYouMean(name, names);
  return help === undefined ? {} : { help };
}
