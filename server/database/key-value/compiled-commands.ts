import type { Effect } from '#core/effects.ts';
import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import type { Access } from '#core/principal.ts';
import {
  type Command,
  type CommandsProgram,
  isReadingCommand,
  type RecordStep,
} from '#query/algebra/commands.ts';
import type { CompiledStatement } from '../statement/compiled-statement.ts';

const anything: Access = { effects: new Set<Effect>(['read']), types: [] };
const keeping: Access = { effects: new Set<Effect>(['insert', 'update']), types: undefined };
const deleting: Access = { effects: new Set<Effect>(['delete']), types: undefined };

const onlyAnything: readonly Access[] = [anything];

/** What a caller needs for a transient key (redis.md 5.10, house decision 69): access to the database is enough to read. */
export const transientAccess = { read: anything, write: keeping, delete: deleting } as const;

/** Commands in the form in which they are kept. Plans of those on records are kept by their shapes (`compiler.ts`). */
export class CompiledCommands {
  readonly kind = 'commands';
  readonly program: CommandsProgram;
  /** A block is more than a read, whatever stands in it (redis.md 5.8). */
  readonly isReadOnly: boolean;
  /** Of transient keys; the types of records are found out when the commands are resolved. */
  readonly accesses: readonly Access[];
  readonly writesRecords: boolean;

  constructor(program: CommandsProgram, doings: Doings) {
    this.program = program;
    this.isReadOnly = doings.isReading;
    this.accesses = doings.accesses;
    this.writesRecords = doings.writesRecords;
  }

  /** Of commands whose keys were judged by who read them; one is the path to keep lean. */
  static ofJudged(program: CommandsProgram): CompiledCommands {
    const [unit] = program.units;
    if (program.units.length !== 1 || unit?.kind !== 'single')
      return new CompiledCommands(program, { ...toEnd(doingsOf(program)), accesses: onlyAnything });
    const { command } = unit;
    return new CompiledCommands(program, {
      isReading: isReadingCommand(command),
      accesses: onlyAnything,
      writesRecords: command.kind === 'records' && command.does !== 'read',
    });
  }

  /** With places to pause: there may be hundreds of thousands of commands. */
  static *inSteps(program: CommandsProgram): PausingWork<CompiledCommands> {
    return new CompiledCommands(program, yield* doingsOf(program));
  }
}

interface Doings {
  readonly isReading: boolean;
  readonly accesses: readonly Access[];
  readonly writesRecords: boolean;
}

const commandsPerStep = 1024;

function* doingsOf(program: CommandsProgram): PausingWork<Doings> {
  const accesses = new Set<Access>([anything]);
  let isReading = program.units.every((unit) => unit.kind === 'single');
  let writesRecords = false;
  let count = 0;
  for (const command of commandsOf(program)) {
    isReading &&= isReadingCommand(command);
    if (command.kind === 'records') writesRecords ||= command.does !== 'read';
    else accesses.add(accessOf(command));
    count += 1;
    if (count % commandsPerStep === 0) yield;
  }
  return { isReading, accesses: [...accesses], writesRecords };
}

/** What the caller needs for a step: what its plan does, and what HSET asks for beside it. */
export function accessesOfStep(
  step: RecordStep,
  { accesses }: CompiledStatement,
): readonly Access[] {
  const { alsoInserts, alsoUpdates } = step;
  if (alsoInserts !== undefined) return [...accesses, { effects: inserting, types: [alsoInserts] }];
  return alsoUpdates === undefined
    ? accesses
    : [...accesses, { effects: updating, types: [alsoUpdates] }];
}

const inserting: ReadonlySet<Effect> = new Set<Effect>(['insert']);
const updating: ReadonlySet<Effect> = new Set<Effect>(['update']);

export function* commandsOf({ units }: CommandsProgram): Iterable<Command> {
  for (const unit of units) {
    if (unit.kind === 'single') yield unit.command;
    else yield* unit.commands;
  }
}

function accessOf({ kind }: Command): Access {
  switch (kind) {
    case 'set':
    case 'add':
    case 'addFloat':
      return keeping;
    case 'take':
    case 'delete':
      return deleting;
    default:
      return anything;
  }
}
