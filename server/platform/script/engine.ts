import { compileFunction, Script } from 'node:vm';
import type { PausingWork, Wait } from '#core/pausing-work.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import { ScriptProcess } from './process.ts';

/** One script of a user and what it is given; JSON texts throughout, no value of this process goes in. */
export interface ScriptCall {
  /** As it reads in errors: `trigger 'x'`. */
  readonly name: string;
  /** A state of their own for calls with the same key; others see nothing of it. */
  readonly key: string;
  /** Names of parameters, and the body of a function, both checked by `problemOfScript`. */
  readonly parameters: readonly string[];
  readonly body: string;
  /** JSON: `args`, and for a trigger `isTrigger`, `mayChange` (changes of `record` come back), `record`, `oldRecord`, `rid`. */
  readonly request: string;
  readonly timeoutMs: number;
}

export type ScriptOutcome =
  | {
      readonly kind: 'done';
      /** JSON. */
      readonly result: string;
      readonly changes:
        | { readonly set: Readonly<Record<string, string>>; readonly removed: readonly string[] }
        | undefined;
    }
  | { readonly kind: 'threw'; readonly message: string }
  | { readonly kind: 'late' }
  /** The process of scripts died; nothing else does that to it. */
  | { readonly kind: 'out-of-memory' };

/** What a script asks of the server in the middle. @returns JSON; must not throw */
export type ScriptQuestions = (request: string) => PausingWork<string>;

export interface ScriptEngineOptions {
  readonly timers: Timers;
  /** Heap of each process that runs scripts; read when it starts. */
  readonly heapMiB: () => number;
  /** Scripts that run at the same time, each in a process. */
  readonly processCountMax?: number;
  /** All end after this time without calls. */
  readonly idleMs?: number;
}

/**
 * Scripts of users in processes of their own (security.md 5.3), without rights, with a small heap and behind the server in the
 * queue for processor time, started when they are needed. A script runs in one that runs nothing else, but for what its own
 * statements set off; others wait for a free one. The work pauses while a script runs (`#core/pausing-work.ts`): nothing waits for
 * it but its statement.
 */
export class ScriptEngine {
  readonly #options: ScriptEngineOptions;
  readonly #processCountMax: number;
  readonly #processes: ScriptProcess[] = [];
  /** Not in use, the last one used at the end. */
  readonly #free: ScriptProcess[] = [];
  readonly #waiting: (() => void)[] = [];
  /** Whose question is being answered: scripts that this sets off run there, since it waits. */
  #asking: ScriptProcess | undefined;
  #stopIdleTimer: Cancel = () => {};

  constructor(options: ScriptEngineOptions) {
    this.#options = options;
    this.#processCountMax = options.processCountMax ?? 2;
  }

  /** Ends when the script does, at most some 300 ms beyond its time. */
  run(call: ScriptCall, questions: ScriptQuestions): PausingWork<ScriptOutcome> {
    const source = `(function (${call.parameters.join(', ')}) {\n${call.body}\n})`;
    const { key, name, request, timeoutMs } = call;
    const frame = `C${JSON.stringify({ key, name, source, request, timeoutMs })}`;
    const order = { frame, key, timeoutMs, questions };
    return this.#asking === undefined ? this.#runFirst(order) : this.#exchange(this.#asking, order);
  }

  /** Ends all processes; the next call starts another one. */
  close(): void {
    this.#stopIdleTimer();
    for (const process of [...this.#processes]) this.#end(process);
  }

  *#runFirst(order: ScriptOrder): PausingWork<ScriptOutcome> {
    this.#stopIdleTimer();
    let process = this.#take(order.key);
    while (process === undefined) {
      let isFree = false;
      let mustGoOn = false;
      const { promise: over, resolve } = Promise.withResolvers<void>();
      const wake = () => {
        isFree = true;
        resolve();
      };
      this.#waiting.push(wake);
      const standStill = () => {
        mustGoOn = true;
      };
      while (!isFree && !mustGoOn) yield { over, isWork: false, standStill };
      if (!isFree) this.#waiting.splice(this.#waiting.indexOf(wake), 1);
      // Whoever cannot pause would wait for those who wait for it: it has one more process.
      process = this.#take(order.key) ?? (mustGoOn ? this.#make() : undefined);
    }
    let isOver = false;
    try {
      const outcome = yield* this.#exchange(process, order);
      isOver = true;
      return outcome;
    } finally {
      // Nobody knows what it is doing otherwise.
      if (!isOver) this.#end(process);
      this.#release(process);
    }
  }

  *#exchange(process: ScriptProcess, order: ScriptOrder): PausingWork<ScriptOutcome> {
    const { key, timeoutMs, questions } = order;
    let { frame } = order;
    process.lastKey = key;
    for (;;) {
      const message = yield* process.exchange(frame, timeoutMs);
      if (message.died === true) return { kind: 'out-of-memory' };
      if (message.isLate === true || message.text === undefined) return { kind: 'late' };
      const body = message.text.slice(1);
      if (message.text[0] !== questionFrame) return outcomeOf(body);
      const { endCount } = process;
      frame = `A${yield* this.#answered(process, questions(body))}`;
      // A script that this one set off took the process with it: nobody waits for the answer any more.
      if (process.endCount !== endCount) return { kind: 'threw', message: errorOf(frame.slice(1)) };
    }
  }

  /** The answer to a question of the script that runs in the process. */
  *#answered(process: ScriptProcess, answer: PausingWork<string>): PausingWork<string> {
    try {
      for (;;) {
        const outer = this.#asking;
        this.#asking = process;
        let step: IteratorResult<Wait | undefined, string>;
        try {
          step = answer.next();
        } finally {
          this.#asking = outer;
        }
        if (step.done === true) return step.value;
        yield step.value;
      }
    } finally {
      answer.return('');
    }
  }

  /** One that knows the key, else the last one used, else a new one; undefined when all are in use. */
  #take(key: string): ScriptProcess | undefined {
    const free = this.#free;
    if (free.length > 0) {
      const known = free.findIndex(({ lastKey }) => lastKey === key);
      return free.splice(known < 0 ? free.length - 1 : known, 1)[0];
    }
    return this.#processes.length < this.#processCountMax ? this.#make() : undefined;
  }

  #make(): ScriptProcess {
    const process = new ScriptProcess(this.#options, () => this.#forget(process));
    this.#processes.push(process);
    return process;
  }

  #release(process: ScriptProcess): void {
    if (this.#processes.includes(process)) this.#free.push(process);
    this.#waiting.shift()?.();
    const { timers, idleMs = 60_000 } = this.#options;
    this.#stopIdleTimer();
    if (this.#free.length === this.#processes.length)
      this.#stopIdleTimer = timers.after(idleMs, () => this.close());
  }

  #end(process: ScriptProcess): void {
    process.close();
    this.#forget(process);
  }

  #forget(process: ScriptProcess): void {
    for (const list of [this.#processes, this.#free]) {
      const at = list.indexOf(process);
      if (at >= 0) list.splice(at, 1);
    }
  }
}

interface ScriptOrder {
  readonly frame: string;
  readonly key: string;
  readonly timeoutMs: number;
  readonly questions: ScriptQuestions;
}

/** First letter of a frame in which a script asks something. */
const questionFrame = 'Q';

/** What a script makes of its own world may show here, so nothing is taken for granted. */
function outcomeOf(text: string): ScriptOutcome {
  const answer = objectOf(text);
  if (answer === undefined) return { kind: 'threw', message: 'the script left no result' };
  const { timeout, error, result, changes } = answer;
  if (timeout === true) return { kind: 'late' };
  if (error !== undefined) return { kind: 'threw', message: String(error) };
  return {
    kind: 'done',
    result: typeof result === 'string' ? result : 'null',
    changes: changesOf(changes),
  };
}

function errorOf(text: string): string {
  return String(objectOf(text)?.['error'] ?? 'the script was ended');
}

function changesOf(changes: unknown): Extract<ScriptOutcome, { kind: 'done' }>['changes'] {
  if (!isObject(changes)) return undefined;
  const { set, removed } = changes;
  if (!isObject(set) || !Array.isArray(removed)) return undefined;
  const texts = Object.entries(set).filter(([, json]) => typeof json === 'string');
  return {
    set: Object.fromEntries(texts) as Record<string, string>,
    removed: removed.filter((name) => typeof name === 'string'),
  };
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

const parameterName = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/**
 * Whether the text is the body of a function with these parameters; it is compiled and not run.
 * @returns what is wrong with it, or undefined
 */
export function problemOfScript(parameters: readonly string[], body: string): string | undefined {
  const wrong = parameters.find((name) => !parameterName.test(name));
  if (wrong !== undefined) return `'${wrong}' cannot be the name of a parameter`;
  try {
    // The first knows bodies that close the function, the second words that cannot be names.
    compileFunction(body, [...parameters]);
    new Script(`(function (${parameters.join(', ')}) {\n${body}\n})`);
    return undefined;
  } catch (error) {
    return error instanceof SyntaxError ? error.message : 'it cannot be compiled';
  }
}
