import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import type { PausingWork } from '#core/pausing-work.ts';
import type { Timers } from '#core/runtime.ts';

/** What came back: a frame of the script, or why there is none. */
export interface ScriptMessage {
  readonly text?: string;
  readonly died?: boolean;
  readonly isLate?: boolean;
}

interface Broker {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly signal: Int32Array;
  /** What came in while nobody stood still. */
  received: ScriptMessage | undefined;
  wake: () => void;
}

/** For a process that has to start, and a machine that is busy. */
const answerGraceMs = 5000;
/** Most scripts are done within this: cheaper than two turns of the event loop, and less than a slice. */
const standStillMs = 0.5;

/**
 * The process that runs scripts (`process.mjs`), and the worker thread that carries frames to it and back
 * (`broker.mjs`), so that its end is noticed and told whatever this thread does. Started with the first frame, and again
 * after its end.
 */
export class ScriptProcess {
  /** Of the last call: its state is here. */
  lastKey = '';
  /** How often it has ended while it had work. */
  endCount = 0;
  readonly #options: { readonly timers: Timers; readonly heapMiB: () => number };
  readonly #onEnd: () => void;
  #broker: Broker | undefined;

  /** @param onEnd told when the thread ends by itself */
  constructor(
    options: { readonly timers: Timers; readonly heapMiB: () => number },
    onEnd: () => void,
  ) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  /** Sends a frame and gives what comes back. */
  *exchange(text: string, timeoutMs: number): PausingWork<ScriptMessage> {
    this.#broker ??= this.#start();
    const broker = this.#broker;
    const { port, signal } = broker;
    const seen = Atomics.load(signal, 0);
    broker.received = undefined;
    port.postMessage({ text, timeoutMs });
    const standStill = (ms: number): void => {
      if (broker.received === undefined) Atomics.wait(signal, 0, seen, ms);
      broker.received ??= receiveMessageOnPort(port)?.message as ScriptMessage | undefined;
    };
    standStill(standStillMs);
    if (broker.received === undefined) yield* this.#awaited(broker, standStill, timeoutMs);
    const received = broker.received as ScriptMessage | undefined;
    if (received?.text !== undefined) return received;
    this.endCount += 1;
    if (received !== undefined) return received;
    this.close();
    return { isLate: true };
  }

  close(): void {
    const broker = this.#broker;
    this.#broker = undefined;
    if (broker === undefined) return;
    broker.wake();
    broker.port.close();
    void broker.worker.terminate();
  }

  *#awaited(
    broker: Broker,
    standStill: (ms: number) => void,
    timeoutMs: number,
  ): PausingWork<void> {
    let isOver = false;
    const over = new Promise<void>((resolve) => {
      broker.wake = () => {
        isOver = true;
        resolve();
      };
    });
    const { timers } = this.#options;
    const stopTimer = timers.after(timeoutMs + answerGraceMs, () => broker.wake());
    broker.port.ref();
    try {
      // No work of the server, which `polyglotCommand.timeout` bounds.
      while (!isOver && broker.received === undefined) yield { over, isWork: false, standStill };
    } finally {
      stopTimer();
      broker.port.unref();
      broker.wake = () => {};
    }
  }

  #start(): Broker {
    const { port1, port2 } = new MessageChannel();
    const signal = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(new URL('./broker.mjs', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
      workerData: { port: port2, signal, heapMiB: this.#options.heapMiB() },
      transferList: [port2],
    });
    const broker: Broker = { worker, port: port1, signal, received: undefined, wake() {} };
    port1.on('message', (message: ScriptMessage) => {
      broker.received = message;
      broker.wake();
    });
    worker.unref();
    port1.unref();
    worker.on('error', () => {
      if (this.#broker !== broker) return;
      this.close();
      this.#onEnd();
    });
    return broker;
  }
}
