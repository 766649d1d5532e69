import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { Log, Runtime } from '../api/runtime.ts';
import { codeOf } from './kubernetes-error.ts';
import type { KubernetesApi } from './port.ts';

/** Times of operator.md 10.3, in milliseconds. */
const leaseMs = { duration: 15_000, renewDeadline: 10_000, retry: 2000 } as const;
const retryJitter = 0.2;

interface LeaseObject extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly renewTime?: string | null;
    readonly acquireTime?: string | null;
    readonly leaseTransitions?: number | null;
  };
}

export interface LeaseOptions {
  readonly api: KubernetesApi;
  readonly runtime: Runtime;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
}

/**
 * Which of several operators acts. Expiry of another holder is judged by our own monotonic clock since its record last
 * changed, never by comparing clocks. `isHeld` is asked before every write: a process that was stopped for longer than
 * its renew deadline does nothing more.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #stop = new AbortController();
  #renewedAtMs: number | undefined;
  #seen: { readonly record: string; readonly atMs: number } | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Whether a write may go out now. */
  isHeld(): boolean {
    if (this.#renewedAtMs === undefined) return false;
    return this.#now() - this.#renewedAtMs < leaseMs.renewDeadline;
  }

  /** Resolves when this process holds the lease. */
  async acquire(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (await this.#try()) return;
      await this.#pause();
    }
  }

  /** Renews until the lease is lost or `release` is called. @returns whether it was lost */
  async keep(): Promise<boolean> {
    while (!this.#stop.signal.aborted) {
      await this.#pause();
      if (this.#stop.signal.aborted) return false;
      await this.#try();
      if (!this.isHeld()) {
        this.#renewedAtMs = undefined;
        return true;
      }
    }
    return false;
  }

  /** Lets the next holder begin at once. */
  async release(): Promise<void> {
    this.#stop.abort();
    if (!this.isHeld()) return;
    const { api } = this.#options;
    try {
      const present = await this.#read();
      if (present?.spec?.holderIdentity !== this.#options.identity) return;
      await api.update({
        ...present,
        spec: { ...present.spec, holderIdentity: '', leaseDurationSeconds: 1 },
      } as LeaseObject);
    } catch (error) {
      this.#options.log.warn({}, `the lease could not be given back: ${String(error)}`);
    }
    this.#renewedAtMs = undefined;
  }

  #now(): number {
    return this.#options.runtime.clock.monotonicMs();
  }

  #pause(): Promise<void> {
    const { timers, random } = this.#options.runtime;
    const jitter = 1 + retryJitter * random.fraction();
    return timers.sleep(leaseMs.retry * jitter, this.#stop.signal);
  }

  async #read(): Promise<LeaseObject | undefined> {
    const { api, namespace, name } = this.#options;
    return (await api.get({ kind: 'Lease', namespace, name })) as LeaseObject | undefined;
  }

  /** Takes or renews the lease. @returns whether it is ours */
  async #try(): Promise<boolean> {
    // Judged by when we asked, not when the answer came: the others count from when they saw it.
    const askedAtMs = this.#now();
    try {
      const present = await this.#read();
      if (present === undefined) await this.#options.api.create(this.#record(undefined));
      else if (this.#mayTake(present)) await this.#options.api.update(this.#record(present));
      else return false;
      this.#renewedAtMs = askedAtMs;
      return true;
    } catch (error) {
      if (codeOf(error) !== 409) this.#options.log.warn({}, `lease: ${String(error)}`);
      return false;
    }
  }

  #mayTake({ spec }: LeaseObject): boolean {
    const { identity } = this.#options;
    const holder = spec?.holderIdentity ?? '';
    if (holder === '' || holder === identity) return true;
    const record = JSON.stringify(spec);
    if (this.#seen?.record !== record) this.#seen = { record, atMs: this.#now() };
    const durationMs = (spec?.leaseDurationSeconds ?? leaseMs.duration / 1000) * 1000;
    return this.#now() - this.#seen.atMs > durationMs;
  }

  #record(present: LeaseObject | undefined): LeaseObject {
    const { namespace, name, identity, runtime } = this.#options;
    const now = microTime(runtime.clock.now());
    const isOurs = present?.spec?.holderIdentity === identity;
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: leaseMs.duration / 1000,
      renewTime: now,
      acquireTime: isOurs ? (present?.spec?.acquireTime ?? now) : now,
      leaseTransitions: (present?.spec?.leaseTransitions ?? 0) + (isOurs || !present ? 0 : 1),
    };
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: present?.metadata ?? { name, namespace },
      spec,
    } as LeaseObject;
  }
}

/** Leases and events want six digits of a second. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z');
}
