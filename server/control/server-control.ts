import type { SettingsReader } from '#config/effective-settings.ts';
import { serverMode, serverName, serverShutdownTimeout } from '#config/server-settings.ts';
import type { Log } from '#core/log.ts';
import type { Timers } from '#core/runtime.ts';
import type { ServerEvents } from './event-log.ts';

/** One part of stopping, in the order in which the parts were given. */
export interface StopStep {
  readonly name: string;
  /** @param timeoutMs `server.shutdownTimeout`, for requests that run */
  run(timeoutMs: number): Promise<unknown>;
}

/**
 * The life of the server: starting, online, stopping (limits.md 19, 20). Doors ask it whether to take requests; a stop is
 * carried out once, however often it is asked for.
 */
export class ServerControl {
  readonly #settings: SettingsReader;
  readonly #events: ServerEvents;
  readonly #timers: Timers;
  readonly #log: Log;
  #state: 'starting' | 'online' | 'stopping' = 'starting';
  #steps: readonly StopStep[] = [];
  #isReady: () => boolean = () => true;
  #stopped: Promise<void> | undefined;

  constructor(options: {
    settings: SettingsReader;
    events: ServerEvents;
    timers: Timers;
    log: Log;
  }) {
    this.#settings = options.settings;
    this.#events = options.events;
    this.#timers = options.timers;
    this.#log = options.log;
  }

  get isStopping(): boolean {
    return this.#state === 'stopping';
  }

  /** Whether requests are taken. */
  get isOnline(): boolean {
    return this.#state === 'online';
  }

  /** Whether `GET /ready` answers 204. */
  get isReady(): boolean {
    return this.#state === 'online' && this.#isReady();
  }

  /** @param isReady further conditions, asked at each look */
  started(isReady: () => boolean): void {
    if (this.#state !== 'starting') return;
    this.#state = 'online';
    this.#isReady = isReady;
    const mode = this.#settings.get(serverMode);
    this.#events.report(
      'INFO',
      'Server',
      `Server '${this.#settings.get(serverName)}' started in '${mode}' mode`,
    );
  }

  stopsBy(steps: readonly StopStep[]): void {
    this.#steps = steps;
  }

  /** Stops after a delay, so that the answer to the request that asked for it arrives. */
  stopSoon(delayMs: number, reason: string): void {
    this.#timers.after(delayMs, () => void this.stop(reason));
  }

  /** Resolves when everything has stopped. A step that fails is logged and does not keep the next ones from running. */
  stop(reason: string): Promise<void> {
    this.#stopped ??= this.#runSteps(reason);
    return this.#stopped;
  }

  async #runSteps(reason: string): Promise<void> {
    this.#state = 'stopping';
    this.#events.report('INFO', 'Server', `Server stops: ${reason}`);
    const timeoutMs = this.#settings.get(serverShutdownTimeout);
    for (const step of this.#steps) {
      try {
        await step.run(timeoutMs);
      } catch (error) {
        this.#log.error(`stopping: ${step.name} failed: ${String(error)}`);
      }
    }
  }
}
