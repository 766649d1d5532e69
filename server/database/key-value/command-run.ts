import type { Access } from '#core/principal.ts';
import { byteTextOf } from '#core/text/byte-text.ts';
import type {
  Command,
  Joined,
  Many,
  RecordCommand,
  RecordStep,
  Reply,
  TransientCommand,
} from '#query/algebra/commands.ts';
import type { StatementCompiler } from '../statement/compiler.ts';
import type { Order, Outcome, PlanRuns, Scope } from '../statement/plan-runs.ts';
import { accessesOfStep } from './compiled-commands.ts';
import type { KeyValueStore } from './key-value-store.ts';
import { doneInSlices, isLong, runLong, runLongStaged } from './long-commands.ts';
import type { Pace } from './pace.ts';
import type { LocateSpace } from './staged-keys.ts';
import { keysOf, type Locate, runTransient } from './transient-operations.ts';

type Replies = readonly Reply[];

/** Between two looks at the clock. */
const partsPerLook = 32;

/** Carries out commands one after the other, in a scope and over keys that are given. What needs no waiting gives no promise. */
export class CommandRun {
  readonly #databaseName: string;
  readonly #store: KeyValueStore;
  readonly #compiler: StatementCompiler;
  readonly #plans: PlanRuns;
  readonly #order: Order;
  readonly #locate: Locate;
  readonly #locateSpace: LocateSpace | undefined;
  readonly #require: (access: Access) => void;
  readonly #pace: Pace;

  /** @param options `locateSpace` is absent inside of blocks, which look at keys that somebody holds when they end */
  constructor(options: {
    readonly databaseName: string;
    readonly store: KeyValueStore;
    readonly compiler: StatementCompiler;
    readonly plans: PlanRuns;
    readonly order: Order;
    readonly locate: Locate;
    readonly locateSpace: LocateSpace | undefined;
    readonly require: (access: Access) => void;
    readonly pace: Pace;
  }) {
    this.#databaseName = options.databaseName;
    this.#store = options.store;
    this.#compiler = options.compiler;
    this.#plans = options.plans;
    this.#order = options.order;
    this.#locate = options.locate;
    this.#locateSpace = options.locateSpace;
    this.#require = options.require;
    this.#pace = options.pace;
  }

  all(commands: Many<Command>, scope: Scope | undefined): Replies | Promise<Replies> {
    return this.#inOrder(commands, (command) => this.#one(command, scope));
  }

  /** One after the other, with turns for others in between where there are many. */
  #inOrder<T>(
    parts: Many<T>,
    reply: (part: T) => Reply | Promise<Reply>,
  ): Replies | Promise<Replies> {
    const replies: Reply[] = [];
    for (let at = 0; at < parts.length; at += 1) {
      const given = reply(parts.at(at) as T);
      const isPaused = at % partsPerLook === partsPerLook - 1 && this.#pace.isSpent;
      if (isPaused || given instanceof Promise)
        return this.#rest({ replies, given, parts, from: at + 1 }, reply);
      replies.push(given);
    }
    return replies;
  }

  async #rest<T>(
    so: {
      readonly replies: Reply[];
      readonly given: Reply | Promise<Reply>;
      readonly parts: Many<T>;
      readonly from: number;
    },
    reply: (part: T) => Reply | Promise<Reply>,
  ): Promise<Replies> {
    const { replies, parts } = so;
    replies.push(await so.given);
    for (let at = so.from; at < parts.length; at += 1) {
      if (this.#pace.isSpent) await this.#pace.pause();
      const next = reply(parts.at(at) as T);
      replies.push(next instanceof Promise ? await next : next);
    }
    return replies;
  }

  /** One command on transient keys, after a block that holds one of them. */
  transient(command: TransientCommand): Replies | Promise<Replies> {
    const reply = this.#transient(command);
    return reply instanceof Promise ? reply.then((one) => [one]) : [reply];
  }

  #one(command: Command, scope: Scope | undefined): Reply | Promise<Reply> {
    if (command.kind === 'constant') return command.reply;
    if (command.kind !== 'records') return this.#transient(command);
    return this.#records(command, scope as Scope);
  }

  #transient(command: TransientCommand): Reply | Promise<Reply> {
    if (isLong(command)) return this.#long(command);
    const held = this.#heldBy(command);
    if (held !== undefined) return held.then(() => this.#transient(command));
    return runTransient(command, this.#locate);
  }

  #long(command: Parameters<typeof runLong>[0]): Promise<Reply> {
    const locate = this.#locateSpace;
    if (locate === undefined) return runLongStaged(command, this.#locate, this.#pace);
    return runLong(command, { store: this.#store, locate, pace: this.#pace });
  }

  #heldBy(command: TransientCommand): Promise<void> | undefined {
    const locate = this.#locateSpace;
    if (locate === undefined) return undefined;
    for (const written of keysOf(command)) {
      const { keys, key } = locate(written, 'read');
      const held = keys.holdOn(key);
      if (held !== undefined) return held;
    }
    return undefined;
  }

  #records(command: RecordCommand, scope: Scope): Reply | Promise<Reply> {
    if (command.prepare === undefined) return this.#prepared(command, scope);
    return doneInSlices(command.prepare(), this.#pace).then(() => this.#prepared(command, scope));
  }

  #prepared(command: RecordCommand, scope: Scope): Reply | Promise<Reply> {
    scope.transaction?.beginStatement();
    const context = this.#compiler.recordContext(scope.view, this.#databaseName);
    const resolved = command.resolve(context);
    if (resolved.kind === 'transient')
      return joined(this.all(resolved.commands, undefined), resolved.gives);
    const { steps, gives } = resolved;
    if (steps.length === 1 && gives !== 'list') return this.#step(steps.at(0) as RecordStep, scope);
    return joined(
      this.#inOrder(steps, (step) => this.#step(step, scope)),
      gives,
    );
  }

  #step(step: RecordStep, scope: Scope): Reply | Promise<Reply> {
    const compiled = this.#compiler.compiledStep(step, scope.view);
    for (const access of accessesOfStep(step, compiled)) this.#require(access);
    const { statement, options, limits, watch } = this.#order;
    const { language, text } = statement;
    const order: Order = {
      statement: { language, text, parameters: step.parameters },
      options,
      limits,
      watch,
    };
    const own: Scope = compiled.isReadOnly ? { ...scope, transaction: undefined } : scope;
    const outcome = this.#plans.runToEnd(compiled, order, own);
    return outcome instanceof Promise
      ? outcome.then((later) => replyOf(later, step))
      : replyOf(outcome, step);
  }
}

function replyOf({ rows }: Outcome, { gives }: RecordStep): Reply {
  if (gives === 'exists') return rows.rowCount > 0 ? 1 : 0;
  const value = rows.rowCount > 0 ? rows.values[0] : undefined;
  if (gives === 'record') return typeof value === 'string' ? byteTextOf(value) : null;
  return typeof value === 'number' ? value : 0;
}

function joined(replies: Replies | Promise<Replies>, gives: Joined): Reply | Promise<Reply> {
  return replies instanceof Promise
    ? replies.then((later) => join(later, gives))
    : join(replies, gives);
}

function join(replies: Replies, gives: Joined): Reply {
  switch (gives) {
    case 'only':
      return replies[0] ?? null;
    case 'list':
      return replies;
    case 'count':
      return replies.filter((reply) => reply !== null).length;
    default: {
      let sum = 0;
      for (const reply of replies) if (typeof reply === 'number') sum += reply;
      return sum;
    }
  }
}
