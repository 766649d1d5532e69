import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import { compileFunction, Script } from 'node:vm';
import type { Cancel, Timers } from '#core/runtime.ts';

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
export type ScriptQuestions = (request: string) => string;

export interface ScriptEngineOptions {
  readonly timers: Timers;
  /** Heap of the process that runs scripts; read when it starts. */
  readonly heapMiB: () => number;
  /** It ends after this time without calls. */
  readonly idleMs?: number;
}

interface Broker {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly signal: Int32Array;
}

type BrokerMessage = { text?: string; died?: boolean; isLate?: boolean };

/** For a process that has to start, and a machine that is busy. */
const answerGraceMs = 5000;

/**
 * Scripts of users in a process of their own (security.md 5.3), without rights and with a small heap, started with the first
 * call. The caller waits: a record is written and an expression computed in one go. A worker thread carries the frames, so that
 * time runs out and a death is noticed while this thread stands still.
 */
export class ScriptEngine {
  readonly #options: ScriptEngineOptions;
  #broker: Broker | undefined;
  #stopIdleTimer: Cancel = () => {};
  /** Processes that ended while they had work. */
  #endCount = 0;

  constructor(options: ScriptEngineOptions) {
    this.#options = options;
  }

  /** Blocks until the script is done, at most some 300 ms beyond its time. */
  run(call: ScriptCall, questions: ScriptQuestions): ScriptOutcome {
    this.#stopIdleTimer();
    const source = `(function (${call.parameters.join(', ')}) {\n${call.body}\n})`;
    const { key, name, request, timeoutMs } = call;
    let frame = `C${JSON.stringify({ key, name, source, request, timeoutMs })}`;
    try {
      for (;;) {
        const message = this.#exchange(frame, timeoutMs);
        if (message.died === true) return { kind: 'out-of-memory' };
        if (message.isLate === true || message.text === undefined) return { kind: 'late' };
        const body = message.text.slice(1);
        if (message.text[0] !== questionFrame) return outcomeOf(body);
        const endCount = this.#endCount;
        frame = `A${questions(body)}`;
        // A script that this one set off took the process with it: nobody waits for the answer any more.
        if (this.#endCount !== endCount) return { kind: 'threw', message: errorOf(frame.slice(1)) };
      }
    } catch (error) {
      // The process still waits for an answer.
      this.close();
      throw error;
    } finally {
      this.#rest();
    }
  }

  /** Ends the process; the next call starts another one. */
  close(): void {
    this.#stopIdleTimer();
    const broker = this.#broker;
    this.#broker = undefined;
    broker?.port.close();
    void broker?.worker.terminate();
  }

  #exchange(text: string, timeoutMs: number): BrokerMessage {
    this.#broker ??= this.#start();
    const { port, signal } = this.#broker;
    const seen = Atomics.load(signal, 0);
    port.postMessage({ text, timeoutMs });
    const waited = Atomics.wait(signal, 0, seen, timeoutMs + answerGraceMs);
    const received = receiveMessageOnPort(port) as { message: BrokerMessage } | undefined;
    if (waited !== 'timed-out' && received !== undefined) {
      if (received.message.text === undefined) this.#endCount += 1;
      return received.message;
    }
    this.#endCount += 1;
    this.close();
    return { isLate: true };
  }

  #start(): Broker {
    const { port1, port2 } = new MessageChannel();
    const signal = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(new URL('./script-broker.mjs', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
      workerData: { port: port2, signal, heapMiB: this.#options.heapMiB() },
      transferList: [port2],
    });
    worker.unref();
    port1.unref();
    worker.on('error', () => {
      if (this.#broker?.worker === worker) this.close();
    });
    return { worker, port: port1, signal };
  }

  #rest(): void {
    const { timers, idleMs = 60_000 } = this.#options;
    this.#stopIdleTimer();
    this.#stopIdleTimer = timers.after(idleMs, () => this.close());
  }
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
