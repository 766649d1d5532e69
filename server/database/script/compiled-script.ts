import type { Access } from '#core/principal.ts';
import type { Value } from '#core/value/value.ts';
import type { Part, SqlScript } from '#language/script-steps.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { operationAccesses } from '../statement/compiled-operation.ts';
import type { CompiledStatement } from '../statement/compiled-statement.ts';

/** What the analysis of a part may ask of the script's variables. */
export interface NameValues {
  get(name: string): Value;
}

interface KnownPart {
  readonly compiled: CompiledStatement;
  /** Variables whose values the analysis looked at: names of types, constants of schema statements. */
  readonly asked: readonly (readonly [name: string, value: Value])[];
}

/** A plan weighs some kilobytes. */
const knownPartsMax = 2048;

/**
 * A script's text in the form in which it is kept: parsed once, each statement in it compiled when it is first run, and again
 * when the catalog, or a variable that gives a name, has changed.
 */
export class CompiledScript {
  readonly kind = 'script';
  readonly program: SqlScript;
  readonly isReadOnly: boolean;
  readonly accesses: readonly Access[];
  readonly #known = new Map<Part, KnownPart>();

  readonly #catalogVersion: number | undefined;

  /**
   * @param callsWriting true when the script calls a function that writes
   * @param catalogVersion of the schema with the functions that it may call; undefined when it calls none
   */
  constructor(program: SqlScript, callsWriting: boolean, catalogVersion: number | undefined) {
    this.#catalogVersion = catalogVersion;
    const { writes, changesState, affectsOthers, operates } = program.effects;
    this.program = program;
    this.isReadOnly = !writes && !changesState && !callsWriting;
    const own: Access = affectsOthers
      ? { effects: new Set(['update']), types: undefined }
      : { effects: new Set(['read']), types: [] };
    this.accesses = operates ? [own, ...operationAccesses] : [own];
  }

  /** Whether what was found out about it holds in the state that `view` shows. */
  holdsIn(view: ReadView): boolean {
    return this.#catalogVersion === undefined || this.#catalogVersion === view.catalog.version;
  }

  /** The part as it was compiled before, when that still holds. */
  known(part: Part, view: ReadView, names: NameValues): CompiledStatement | undefined {
    const known = this.#known.get(part);
    if (known === undefined) return undefined;
    const { compiled, asked } = known;
    if (compiled.catalogVersion !== view.catalog.version || compiled.isStale(view))
      return undefined;
    for (const [name, value] of asked) if (names.get(name) !== value) return undefined;
    return compiled;
  }

  /** A script of very many statements keeps the plans of the last ones only. */
  remember(part: Part, known: KnownPart): void {
    this.#known.delete(part);
    this.#known.set(part, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= knownPartsMax) break;
      this.#known.delete(oldest);
    }
  }
}
