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
        const answer = JSON.parse(message.text) as Answer;
        if (answer.ask === undefined) return outcomeOf(answer);
        frame = `A${questions(message.text)}`;
      }
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
    if (waited !== 'timed-out' && received !== undefined) return received.message;
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

interface Answer {
  readonly ask?: string;
  readonly error?: string;
  readonly timeout?: boolean;
  readonly result?: string;
  readonly changes?: { set: Record<string, string>; removed: string[] };
}

function outcomeOf(answer: Answer): ScriptOutcome {
  if (answer.timeout === true) return { kind: 'late' };
  if (answer.error !== undefined) return { kind: 'threw', message: answer.error };
  return { kind: 'done', result: answer.result ?? 'null', changes: answer.changes };
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
