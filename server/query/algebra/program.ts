import type { Value } from '#core/value/value.ts';
import type { CommandsProgram } from './commands.ts';
import type { QueryProgram } from './plan.ts';

/**
 * What a front end makes of one text. A script is run step by step by `database/script/runner.ts`, which asks the front end
 * again for each nested statement, since type names may come from variables.
 */
export type Program = QueryProgram | ScriptProgram | OperationProgram | CommandsProgram;

export interface ScriptProgram {
  readonly kind: 'script';
  /** Steps in the script's own vocabulary, defined with the sqlscript front end. */
  readonly steps: readonly ScriptStep[];
}

/** BACKUP DATABASE, IMPORT DATABASE, ...: run by `database/operations`, needs more than a transaction. */
export interface OperationProgram {
  readonly kind: 'operation';
  readonly name: string;
  readonly arguments: ReadonlyMap<string, Value>;
}

export interface ScriptStep {
  readonly kind: string;
}
