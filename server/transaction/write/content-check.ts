import {
  type CoercionContext,
  coerceProperties,
  coercePropertiesInSteps,
} from '#catalog/coercion.ts';
import { requireName } from '#catalog/name-rules.ts';
import { validateRecord, validateRecordInSteps } from '#catalog/validation.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { widthsOf, withWidths } from '#core/value/integer-width.ts';
import { eachInSteps } from '#core/value/many-properties.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import type { ValueMap } from '#core/value/value.ts';
import { typeOfRid } from '../read/holding-bucket.ts';
import type { StatementView } from '../read/statement-view.ts';
import { undeclared } from './undeclared-widths.ts';
import type { WriteRules } from './write-rules.ts';

export interface NameServices {
  /** Property names that were found to be legal; bounded. */
  readonly knownNames: Set<string>;
  /** `service.maxNameLength` */
  nameLengthMax(): number;
}

const knownNamesMax = 10_000;

/** What a record is to hold: converted, then validated (sql.md 2.1, 13.6). */
export class ContentCheck {
  readonly #services: NameServices;
  readonly #view: StatementView;
  readonly #formats: TemporalFormats;
  readonly #typeOfRid = (rid: Rid): TypeId | undefined => typeOfRid(this.#view, rid);

  constructor(services: NameServices, view: StatementView, formats: TemporalFormats) {
    this.#services = services;
    this.#view = view;
    this.#formats = formats;
  }

  /** @throws DatabaseError what conversion and validation throw, `IllegalArgument` for a name */
  checked(rules: WriteRules, properties: ValueMap, before: StoredRecord | undefined): ValueMap {
    const context = this.#context();
    const { id } = rules.type;
    const content = coerceProperties(id, properties, context);
    for (const name of content.keys()) this.#requireName(name);
    validateRecord(id, content, before, context);
    return sized(content, properties, rules);
  }

  /** As `checked`, with pauses: for very many properties. */
  *checkedInSteps(
    rules: WriteRules,
    properties: ValueMap,
    before: StoredRecord | undefined,
  ): PausingWork<ValueMap> {
    const context = this.#context();
    const { id } = rules.type;
    const content = yield* coercePropertiesInSteps(id, properties, context);
    yield* eachInSteps(content.keys(), (name) => this.#requireName(name));
    yield* validateRecordInSteps(id, content, before, context);
    return sized(content, properties, rules);
  }

  #context(): CoercionContext {
    const { catalog } = this.#view;
    return { catalog, formats: this.#formats, typeOfRid: this.#typeOfRid };
  }

  /** limits.md 22, for names that no declaration has checked. */
  #requireName(name: string): void {
    const { knownNames } = this.#services;
    if (knownNames.has(name)) return;
    requireName('property', name, this.#services.nameLengthMax());
    if (knownNames.size >= knownNamesMax) knownNames.clear();
    knownNames.add(name);
  }
}

function sized(content: ValueMap, properties: ValueMap, rules: WriteRules): ValueMap {
  const widths = widthsOf(properties);
  return widths === undefined ? content : withWidths(content, undeclared(widths, rules));
}
