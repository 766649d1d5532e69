import { Worker } from 'node:worker_threads';
import type { SharedBlock } from './slot-block.ts';
import type { VectorSettings } from './vector-settings.ts';

/** To the worker. Its graph of a block is gone after it has reported, or was told to stop. */
export type LinkRequest =
  | {
      readonly kind: 'begin';
      readonly id: number;
      readonly shared: SharedBlock;
      readonly settings: VectorSettings;
      readonly until: number;
    }
  | { readonly kind: 'until'; readonly id: number; readonly until: number }
  | { readonly kind: 'stop'; readonly id: number };

/** From the worker: all slots asked for are linked. */
export interface LinkReport {
  readonly id: number;
}

export interface LinkJob {
  /** There are more slots now. */
  extend(until: number): void;
  /** The block is not wanted any more. */
  stop(): void;
}

/** One thread for all graphs of the process, there while one has something to link. */
class GraphLinker {
  #worker: Worker | undefined;
  #nextId = 1;
  readonly #ended = new Map<number, () => void>();
  /** False: a thread has died; who has something to link does it in turns. */
  isUsable = true;

  /** @param ended told once: all is linked, or the thread has died */
  begin(shared: SharedBlock, settings: VectorSettings, until: number, ended: () => void): LinkJob {
    const id = this.#nextId;
    this.#nextId += 1;
    this.#ended.set(id, ended);
    this.#worker ??= this.#start();
    this.#send({ kind: 'begin', id, shared, settings, until });
    return {
      extend: (more) => this.#send({ kind: 'until', id, until: more }),
      stop: () => {
        this.#send({ kind: 'stop', id });
        this.#end(id);
      },
    };
  }

  #send(request: LinkRequest): void {
    if (this.#ended.has(request.id)) this.#worker?.postMessage(request);
  }

  #end(id: number): void {
    const ended = this.#ended.get(id);
    this.#ended.delete(id);
    ended?.();
    if (this.#ended.size > 0) return;
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./graph-worker.ts', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    });
    worker.unref();
    worker.on('message', ({ id }: LinkReport) => this.#end(id));
    worker.on('error', () => {
      if (this.#worker === worker) this.#worker = undefined;
      this.isUsable = false;
      for (const id of [...this.#ended.keys()]) this.#end(id);
    });
    return worker;
  }
}

export const graphLinker = new GraphLinker();
