import type { Catalog } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { TypeLabel, TypeLabels } from '#storage/format/row-record.ts';

/**
 * Names and kinds of types for records, which storage cannot know. Made before the engine is opened and handed to both the
 * engine and `openDatabaseState`. Dropped types keep their label for records that are still being looked at; type ids are
 * never given twice.
 */
export class TypeLabelBook {
  readonly #labels: (TypeLabel | undefined)[] = [];

  /** For the engine's options. */
  readonly labels: TypeLabels = (type: TypeId) => {
    const label = this.#labels[type];
    if (label !== undefined) return label;
    throw new DatabaseError('CorruptedRecord', `a row names the unknown type ${type}`);
  };

  /** Takes over the types of a schema. */
  learn(catalog: Catalog): void {
    for (const type of catalog.types()) this.#labels[type.id] = type;
  }
}
