import type { IndexDefinition } from '#catalog/catalog.ts';
import { decodeCatalog } from '#catalog/catalog-codec.ts';
import { type CatalogValue, emptyCatalog } from '#catalog/catalog-value.ts';
import type { Authorizer } from '#core/principal.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import { SearchMemory } from '#index/search-memory.ts';
import type { LanguageRegistry } from '#language/registry.ts';
import { LmdbReader } from '#storage/lmdb-reader.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { StatementView } from '#transaction/read/statement-view.ts';
import { Overlay } from '#transaction/write/overlay.ts';
import { TypeLabelBook } from '#transaction/write/type-label-book.ts';
import type { ActiveStatements } from '../bounds/active-statements.ts';
import type { ServerMemory } from '../bounds/memory-accounts.ts';
import { RecordGuard } from '../bounds/record-guard.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import { StatementWatch } from '../bounds/statement-watch.ts';
import { StatementCompiler } from '../statement/compiler.ts';
import { StatementContext, type StatementSurroundings } from '../statement/context.ts';
import { planMaker } from '../statement/plan-maker.ts';
import { PlanRuns } from '../statement/plan-runs.ts';
import { assert } from '#core/assert.ts';
import type { ResultStream, RunOptions, Statement } from '../session.ts';
import type { ThreadedDatabase } from './messages.ts';

export interface ThreadSurroundings {
  /** Its `yield` is fair among the statements of the thread. */
  readonly runtime: Runtime;
  readonly languages: LanguageRegistry;
  readonly serverVersion: string;
  readonly memory: ServerMemory;
  readonly active: ActiveStatements;
}

/** One statement as the main thread has admitted it. */
export interface AdmittedStatement {
  readonly statement: Statement;
  readonly options: RunOptions;
  readonly limits: StatementLimits;
  readonly snapshotAgeMsMax: number;
  readonly planCountMax: number;
  readonly startedMs: number;
}

const noOverlay = new Overlay();
const schemaDocumentName = 'schema';

/** The main thread has asked. */
const admitted: Authorizer = { require() {}, canAccess: () => true, canRead: () => true };

function keptHere(what: string): never {
  throw new DatabaseError('Internal', `a reader thread has no ${what}`);
}

/**
 * A database in a reader thread: what its checkpoints hold, and the path of a reading statement from its text to its rows, by the
 * same compiler, operators and bounds as on the main thread. Rights were judged there.
 */
export class ThreadDatabase {
  readonly facts: ThreadedDatabase;
  readonly #surroundings: ThreadSurroundings;
  readonly #labels = new TypeLabelBook();
  readonly #reader: LmdbReader;
  readonly #keys = new WeakMap<IndexDefinition, IndexKeys>();
  readonly #searchMemory = new SearchMemory(false);
  readonly #compiler: StatementCompiler;
  readonly #plans: PlanRuns;
  #document: Uint8Array | undefined;
  #catalog: CatalogValue = emptyCatalog();
  #limits: StatementLimits;
  #planCountMax = 0;

  constructor(facts: ThreadedDatabase, limits: StatementLimits, surroundings: ThreadSurroundings) {
    this.facts = facts;
    this.#surroundings = surroundings;
    this.#limits = limits;
    this.#reader = new LmdbReader({ ...facts, labels: this.#labels.labels });
    const ofStatements = statementSurroundings(facts.name, surroundings);
    this.#compiler = new StatementCompiler({
      languages: surroundings.languages,
      planner: planMaker,
      limits: () => this.#limits,
      countMax: () => this.#planCountMax,
      makeContext: (slotCount) => new StatementContext(slotCount, ofStatements, this.#limits),
    });
    this.#plans = new PlanRuns({
      memory: surroundings.memory,
      runtime: surroundings.runtime,
      requireOpen: () => {},
      guard: new RecordGuard(admitted, facts.name),
    });
  }

  /** @throws what the statement throws before its first row */
  run(asked: AdmittedStatement): ResultStream {
    const { statement, options, limits } = asked;
    this.#limits = limits;
    this.#planCountMax = asked.planCountMax;
    const view = this.#view();
    const settle = (): void => view[Symbol.dispose]();
    try {
      const compiled = this.#compiler.compiled(statement, view);
      assert(compiled.kind === 'statement' && compiled.isReadOnly, 'only reading statements move');
      if (view.catalog.definitions.hasReadTriggers)
        throw new DatabaseError('Busy', 'the schema changed while the statement began; try again');
      const watch = new StatementWatch({
        active: this.#surroundings.active,
        statement,
        options,
        databaseName: this.facts.name,
        limits,
        snapshotAgeMsMax: () => asked.snapshotAgeMsMax,
        runtime: this.#surroundings.runtime,
        startedMs: asked.startedMs,
      });
      const order = { statement, options, limits, watch };
      const result = this.#plans.read(compiled, order, { view, transaction: undefined, settle });
      assert(
        !(result instanceof Promise),
        'the first slice of a statement that reads needs no wait',
      );
      return result;
    } catch (error) {
      settle();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  #view(): ReadView {
    const snapshot = this.#reader.snapshot();
    try {
      const services = {
        engine: this.#reader,
        keysOf: (index: IndexDefinition) => this.#keysOf(index),
        searchMemory: this.#searchMemory,
      };
      const document = snapshot.meta(schemaDocumentName);
      if (!sameBytes(document, this.#document)) this.#learn(document);
      return new StatementView(services, { snapshot, catalog: this.#catalog }, noOverlay);
    } catch (error) {
      snapshot[Symbol.dispose]();
      throw error;
    }
  }

  #learn(document: Uint8Array | undefined): void {
    this.#catalog = document === undefined ? emptyCatalog() : decodeCatalog(document);
    this.#labels.learn(this.#catalog);
    this.#document = document;
  }

  #keysOf(index: IndexDefinition): IndexKeys {
    let known = this.#keys.get(index);
    if (known === undefined) {
      known = new IndexKeys(index);
      this.#keys.set(index, known);
    }
    return known;
  }
}

function statementSurroundings(
  databaseName: string,
  { runtime, serverVersion }: ThreadSurroundings,
): StatementSurroundings {
  return {
    runtime,
    databaseName,
    serverVersion,
    defaults: () => keptHere('defaults'),
    schemaSource: () => keptHere('rows of the schema'),
    evaluateCondition: () => keptHere('conditions of texts'),
    globals: { get: () => keptHere('variables') },
    watched: () => keptHere('triggers'),
    callFunction: () => keptHere('functions of the schema'),
    maintain: () => keptHere('maintenance'),
    openRows: () => keptHere('files'),
    users: () => keptHere('users'),
  };
}

function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return Buffer.compare(a, b) === 0;
}
