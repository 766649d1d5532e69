import type { Catalog } from '#catalog/catalog.ts';
import type { ByteText } from '#core/text/byte-text.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value } from '#core/value/value.ts';
import type { QueryProgram } from './plan.ts';

/*
 * Programs of the key-value language: commands on keys that live in memory (transient) and on records, one after the other.
 * Commands on records are plans like those of any other language; `database/key-value` runs all of them.
 */

/** What a command gives. Texts of transient commands are bytes (`ByteText`), those of commands on records are texts. */
export type Reply = null | number | bigint | string | readonly Reply[];

export interface CommandsProgram {
  readonly kind: 'commands';
  readonly units: readonly CommandUnit[];
  /** Answered with the list of all replies; else with the only one. */
  readonly isList: boolean;
}

export type CommandUnit =
  | { readonly kind: 'single'; readonly command: Command }
  /** MULTI ... EXEC: all or nothing. */
  | { readonly kind: 'block'; readonly commands: readonly Command[] };

export type Command = TransientCommand | RecordCommand | ConstantCommand;

/** Keys as they were written, a database prefix included. */
export type TransientCommand =
  | { readonly kind: 'get' | 'take'; readonly key: ByteText }
  | {
      readonly kind: 'set';
      readonly key: ByteText;
      readonly value: ByteText;
      readonly only: 'absent' | 'present' | undefined;
      readonly givesOld: boolean;
    }
  | { readonly kind: 'exists'; readonly keys: readonly ByteText[] }
  | { readonly kind: 'delete'; readonly keys: readonly ByteText[] }
  | { readonly kind: 'add'; readonly key: ByteText; readonly by: number | bigint }
  | { readonly kind: 'addFloat'; readonly key: ByteText; readonly by: string };

export interface ConstantCommand {
  readonly kind: 'constant';
  readonly reply: ByteText;
  /** A word of the protocol, not one of the client. */
  readonly isStatus?: true;
}

/** A command on records: its steps are run in one transaction and their replies joined. */
export interface RecordCommand {
  readonly kind: 'records';
  /** `set` creates or changes records (HSET, HMSET). */
  readonly does: 'read' | 'set' | 'delete';
  /**
   * What is to be run in the state that the context shows.
   * @throws DatabaseError `IllegalArgument`, `Schema`, ... for types and indexes that are not there, keys and texts that are wrong
   */
  resolve(context: RecordContext): ResolvedCommand;
  /** Of a long one: what `resolve` would take long for. It finds out the same without it. */
  prepare?(): PausingWork<void>;
}

/** What is made when its turn comes: there may be hundreds of thousands. */
export interface Many<T> {
  readonly length: number;
  /** @throws DatabaseError for what is wrong with this one */
  at(index: number): T | undefined;
}

export interface RecordContext {
  readonly catalog: Catalog;
  readonly databaseName: string;
  readonly formats: TemporalFormats;
}

export type ResolvedCommand =
  /** What the address stands for is a transient key (`HGET <database> <key>`). */
  | {
      readonly kind: 'transient';
      readonly commands: Many<TransientCommand>;
      readonly gives: Joined;
    }
  | {
      readonly kind: 'steps';
      readonly steps: Many<RecordStep>;
      /** All steps ask for the same rights: those of the first. */
      readonly isUniform: boolean;
      readonly gives: Joined;
    };

/**
 * How the replies of the steps become that of the command: their only one, all of them in a list, their sum, or how many of them are
 * not null.
 */
export type Joined = 'only' | 'list' | 'sum' | 'count';

/** One plan with its parameters. */
export interface RecordStep {
  /** Equal shapes have equal programs as long as the catalog is the same. */
  readonly shape: string;
  program(): QueryProgram;
  readonly parameters: ReadonlyMap<string, Value>;
  /**
   * `record`: the text that is the first row, null when there is none. `count`: the number that is the first row. `exists`: 1 when
   * there is a row, else 0.
   */
  readonly gives: 'record' | 'count' | 'exists';
  /** The right to insert into, or update, this type is asked for beside what the plan does: HSET needs both (redis.md 5.10). */
  readonly alsoInserts?: string | undefined;
  readonly alsoUpdates?: string;
}

export function isReadingCommand(command: Command): boolean {
  switch (command.kind) {
    case 'records':
      return command.does === 'read';
    case 'get':
    case 'exists':
    case 'constant':
      return true;
    default:
      return false;
  }
}
