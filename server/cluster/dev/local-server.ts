import { type ChildProcess, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { systemRuntime } from '#platform/system-runtime.ts';

const script = resolve(import.meta.dirname, '../../main.ts');
const shownMax = 40_000;

export interface LocalServerOptions {
  readonly place: number;
  readonly name: string;
  readonly rootPath: string;
  readonly httpPort: number;
  readonly raftPort: number;
  readonly settings: Readonly<Record<string, string>>;
  /** Asked at each start. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** The process is gone. */
  readonly onExit: () => void;
}

/** One server of a local cluster: a process that can be killed, stopped, paused and started again over the same files. */
export class LocalServer {
  readonly options: LocalServerOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<number | null> = Promise.resolve(null);
  #output = '';
  #isPaused = false;

  constructor(options: LocalServerOptions) {
    this.options = options;
  }

  get place(): number {
    return this.options.place;
  }

  get httpPort(): number {
    return this.options.httpPort;
  }

  get id(): string {
    return `127.0.0.1_${this.options.raftPort}`;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The end of what it printed. */
  get output(): string {
    return this.#output;
  }

  /** @param more settings for this start */
  start(more: Readonly<Record<string, string>> = {}): void {
    if (this.#child !== undefined) return;
    const { rootPath, httpPort, name, settings, environment } = this.options;
    const all: Record<string, string> = {
      'server.name': name,
      'server.rootPath': rootPath,
      'server.httpIncomingHost': '127.0.0.1',
      'server.httpIncomingPort': String(httpPort),
      'server.logsDirectory': join(rootPath, 'log'),
      'ha.enabled': 'true',
      ...settings,
      ...more,
    };
    const texts = Object.entries(all).map(([key, value]) => `service.${key}="${value}"`);
    const child = spawn(process.execPath, [script], {
      cwd: rootPath,
      env: { ...process.env, ...environment(), SERVICE_SETTINGS: texts.join(' ') },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#isPaused = false;
    const keep = (text: unknown) => {
      this.#output = (this.#output + String(text)).slice(-shownMax);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    this.#exited = new Promise((ended) => {
      child.once('exit', (code, signal) => {
        keep(`\nended: ${code ?? signal}\n`);
        if (this.#child === child) this.#child = undefined;
        this.options.onExit();
        ended(code);
      });
    });
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  /** SIGTERM. @returns the exit code */
  async stop(): Promise<number | null> {
    if (this.#isPaused) this.resume();
    this.#child?.kill('SIGTERM');
    return this.#exited;
  }

  pause(): void {
    this.#child?.kill('SIGSTOP');
    this.#isPaused = true;
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
    this.#isPaused = false;
  }

  ready(timeoutMs: number): Promise<void> {
    return this.answers('ready', timeoutMs);
  }

  /** Waits until the probe answers 204. @throws Error with the end of its output when it does not */
  async answers(probe: 'ready' | 'health', timeoutMs: number): Promise<void> {
    const { clock, timers } = systemRuntime;
    const untilMs = clock.monotonicMs() + timeoutMs;
    while (clock.monotonicMs() < untilMs && this.#child !== undefined) {
      try {
        const { status } = await fetch(`http://127.0.0.1:${this.httpPort}/api/v1/${probe}`);
        if (status === 204) return;
      } catch {
        // Not listening yet; the deadline bounds the loop.
      }
      await timers.sleep(20);
    }
    throw new Error(`${this.options.name} did not get ready\n${this.#output}`);
  }
}
