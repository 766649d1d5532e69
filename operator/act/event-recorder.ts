import type { EventNote } from '../api/decision.ts';
import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { Log, Runtime } from '../api/runtime.ts';
import { microTime } from '../kubernetes/lease.ts';
import type { KubernetesApi } from '../kubernetes/port.ts';

const noteLengthMax = 1024;
const repeatMs = 300_000;
const burstMax = 25;
const knownMax = 1000;

interface Known {
  readonly name: string;
  atMs: number;
  count: number;
}

/** Of more than are remembered: objects come and go for years. */
function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size > knownMax && oldest !== undefined) map.delete(oldest);
}

/**
 * Events about objects of ours. The same note again within five minutes counts up the one that is there; more than a burst of different
 * ones waits for the next five minutes. Losing an event is no failure.
 */
export class EventRecorder {
  readonly #api: KubernetesApi;
  readonly #runtime: Runtime;
  readonly #log: Log;
  readonly #instance: string;
  readonly #known = new Map<string, Known>();
  readonly #bursts = new Map<string, { sinceMs: number; count: number }>();

  constructor(options: {
    readonly api: KubernetesApi;
    readonly runtime: Runtime;
    readonly log: Log;
    readonly instance: string;
  }) {
    this.#api = options.api;
    this.#runtime = options.runtime;
    this.#log = options.log;
    this.#instance = options.instance;
  }

  async record(object: KubernetesObject, event: EventNote): Promise<void> {
    const now = this.#runtime.clock.now();
    const key = `${object.metadata.uid ?? ''} ${event.reason} ${event.note}`;
    const known = this.#known.get(key);
    try {
      if (known !== undefined && now - known.atMs < repeatMs)
        await this.#repeat(object, known, now);
      else if (this.#mayBurst(object.metadata.uid ?? '', now))
        await this.#create(object, event, key, now);
    } catch (error) {
      this.#log.warn({ object: object.metadata.name }, `event not recorded: ${String(error)}`);
    }
  }

  #mayBurst(uid: string, now: number): boolean {
    const present = this.#bursts.get(uid);
    const burst =
      present === undefined || now - present.sinceMs > repeatMs
        ? { sinceMs: now, count: 0 }
        : present;
    burst.count++;
    this.#bursts.delete(uid);
    this.#bursts.set(uid, burst);
    dropOldest(this.#bursts);
    return burst.count <= burstMax;
  }

  async #create(
    object: KubernetesObject,
    event: EventNote,
    key: string,
    now: number,
  ): Promise<void> {
    const { name, namespace, uid } = object.metadata;
    const eventName = `${name}.${this.#runtime.random.uuid().slice(0, 13)}`;
    await this.#api.create({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: eventName, ...(namespace === undefined ? undefined : { namespace }) },
      eventTime: microTime(now),
      reportingController: 'polyad.io/operator',
      reportingInstance: this.#instance,
      action: 'Reconcile',
      reason: event.reason,
      regarding: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid },
      note: event.note.slice(0, noteLengthMax),
      type: event.type,
    } as KubernetesObject);
    this.#known.set(key, { name: eventName, atMs: now, count: 1 });
    dropOldest(this.#known);
  }

  async #repeat(object: KubernetesObject, known: Known, now: number): Promise<void> {
    known.count++;
    known.atMs = now;
    await this.#api.mergePatch(
      { kind: 'Event', namespace: object.metadata.namespace, name: known.name },
      { series: { count: known.count, lastObservedTime: microTime(now) } },
      'polyad-operator',
    );
  }
}
