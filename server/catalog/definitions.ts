import { foldAscii } from '#core/text/case-folding.ts';
import type { TypeId } from '#core/value/rid.ts';

/*
 * What users define beside types: triggers, functions, views (sql.md 14). Kept in the schema document as text: a body is parsed
 * when it is defined and compiled when it is first run, like any statement.
 */

export type TriggerTiming = 'BEFORE' | 'AFTER';
export type TriggerEvent = 'CREATE' | 'READ' | 'UPDATE' | 'DELETE';

export interface TriggerDefinition {
  readonly name: string;
  readonly timing: TriggerTiming;
  readonly event: TriggerEvent;
  /** Fires for records of exactly this type. */
  readonly type: TypeId;
  /** One SQL statement, or the body of a function in JavaScript. */
  readonly action: string;
  /** Absent: SQL. */
  readonly language?: 'JAVASCRIPT';
}

export interface FunctionDefinition {
  readonly library: string;
  readonly name: string;
  readonly parameters: readonly string[];
  readonly language: 'sql' | 'js' | 'cypher';
  readonly body: string;
}

export type RefreshMode = 'MANUAL' | 'INCREMENTAL' | 'PERIODIC';

/** A document type that holds the rows of a query. */
export interface ViewDefinition {
  readonly name: string;
  /** The document type of the same name. */
  readonly type: TypeId;
  readonly query: string;
  readonly refreshMode: RefreshMode;
  /** Milliseconds between refreshes of a PERIODIC view, else 0. */
  readonly refreshIntervalMs: number;
  /** True when a row of the view depends on one record of one type. */
  readonly isSimple: boolean;
  /** The types that the query names, without their subtypes. */
  readonly sourceTypes: readonly string[];
  /** True when it may read records of others, too: by record id, link or edges of any type. */
  readonly readsAnyType: boolean;
}

export type GraphViewMode = 'OFF' | 'SYNCHRONOUS' | 'ASYNCHRONOUS';

/** An accelerator that is only remembered: results never depend on it (sql.md 14.4). */
export interface GraphViewDefinition {
  readonly name: string;
  readonly vertexTypes: readonly string[];
  readonly edgeTypes: readonly string[];
  readonly properties: readonly string[];
  readonly edgeProperties: readonly string[];
  readonly updateMode: GraphViewMode;
  readonly compactionThreshold: number;
}

/** All of them; in the order in which they were defined, which is the order in which triggers fire. */
export interface DefinitionParts {
  readonly triggers: readonly TriggerDefinition[];
  readonly functions: readonly FunctionDefinition[];
  readonly views: readonly ViewDefinition[];
  readonly graphViews: readonly GraphViewDefinition[];
}

/** What happens beside a write or read of records of one type. */
export interface TypeHooks {
  /** The view whose rows the records are: only its refresh writes them. */
  readonly view: ViewDefinition | undefined;
  readonly beforeCreate: readonly TriggerDefinition[];
  readonly afterCreate: readonly TriggerDefinition[];
  readonly beforeRead: readonly TriggerDefinition[];
  readonly afterRead: readonly TriggerDefinition[];
  readonly beforeUpdate: readonly TriggerDefinition[];
  readonly afterUpdate: readonly TriggerDefinition[];
  readonly beforeDelete: readonly TriggerDefinition[];
  readonly afterDelete: readonly TriggerDefinition[];
}

export const noDefinitions: DefinitionParts = {
  triggers: [],
  functions: [],
  views: [],
  graphViews: [],
};

/** The definitions of one catalog with their lookup tables; immutable like it. */
export class Definitions {
  readonly parts: DefinitionParts;
  /** True when records of some type are read through triggers. */
  readonly hasReadTriggers: boolean;
  /** True when inserting records of some type fires triggers. */
  readonly hasCreateTriggers: boolean;
  /** Types with triggers on DELETE: edges of them are looked at one by one when their vertex goes. */
  readonly deleteTriggerTypes: readonly TypeId[];
  /** False: no type has hooks. */
  readonly isHooked: boolean;
  readonly #triggers = new Map<string, TriggerDefinition>();
  readonly #functions = new Map<string, FunctionDefinition>();
  readonly #views = new Map<string, ViewDefinition>();
  readonly #graphViews = new Map<string, GraphViewDefinition>();
  readonly #hooks = new Map<TypeId, TypeHooks>();

  constructor(parts: DefinitionParts) {
    this.parts = parts;
    for (const trigger of parts.triggers) this.#triggers.set(trigger.name, trigger);
    for (const defined of parts.functions)
      this.#functions.set(foldAscii(fullName(defined)), defined);
    for (const view of parts.views) this.#views.set(view.name, view);
    for (const view of parts.graphViews) this.#graphViews.set(view.name, view);
    this.hasReadTriggers = parts.triggers.some(({ event }) => event === 'READ');
    this.hasCreateTriggers = parts.triggers.some(({ event }) => event === 'CREATE');
    const onDelete = parts.triggers.filter(({ event }) => event === 'DELETE');
    this.deleteTriggerTypes = [...new Set(onDelete.map(({ type }) => type))];
    this.isHooked = parts.triggers.length + parts.views.length > 0;
    const triggersOf = new Map<TypeId, TriggerDefinition[]>();
    for (const view of parts.views) triggersOf.set(view.type, []);
    for (const trigger of parts.triggers) {
      const known = triggersOf.get(trigger.type);
      if (known === undefined) triggersOf.set(trigger.type, [trigger]);
      else known.push(trigger);
    }
    const viewOf = new Map(parts.views.map((view) => [view.type, view]));
    for (const [type, triggers] of triggersOf)
      this.#hooks.set(type, hooksOf(triggers, viewOf.get(type)));
  }

  trigger(name: string): TriggerDefinition | undefined {
    return this.#triggers.get(name);
  }

  /** @param name `library.name`, in any letter case like all names of functions */
  functionNamed(name: string): FunctionDefinition | undefined {
    return this.#functions.get(foldAscii(name));
  }

  functionNames(): readonly string[] {
    return this.parts.functions.map(fullName);
  }

  view(name: string): ViewDefinition | undefined {
    return this.#views.get(name);
  }

  graphView(name: string): GraphViewDefinition | undefined {
    return this.#graphViews.get(name);
  }

  /** undefined: records of the type are read and written without anything happening. Cost: one map lookup. */
  hooks(type: TypeId): TypeHooks | undefined {
    return this.#hooks.get(type);
  }
}

export function fullName(defined: Pick<FunctionDefinition, 'library' | 'name'>): string {
  return `${defined.library}.${defined.name}`;
}

function hooksOf(
  triggers: readonly TriggerDefinition[],
  view: ViewDefinition | undefined,
): TypeHooks {
  const at = (timing: TriggerTiming, event: TriggerEvent): readonly TriggerDefinition[] =>
    triggers.filter((trigger) => trigger.timing === timing && trigger.event === event);
  return {
    view,
    beforeCreate: at('BEFORE', 'CREATE'),
    afterCreate: at('AFTER', 'CREATE'),
    beforeRead: at('BEFORE', 'READ'),
    afterRead: at('AFTER', 'READ'),
    beforeUpdate: at('BEFORE', 'UPDATE'),
    afterUpdate: at('AFTER', 'UPDATE'),
    beforeDelete: at('BEFORE', 'DELETE'),
    afterDelete: at('AFTER', 'DELETE'),
  };
}
