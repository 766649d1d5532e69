import { stallReasons } from '../api/decision.ts';
import type { EventNote, EventReason } from '../api/decision.ts';
import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { Log, Runtime } from '../api/runtime.ts';
import { codeOf } from '../kubernetes/kubernetes-error.ts';
import { microTime } from '../kubernetes/lease.ts';
import type { KubernetesApi } from '../kubernetes/port.ts';

const noteLengthMax = 1024;
const repeatMs = 300_000;
const burstMax = 25;
const knownMax = 1000;
/** Of those that could not be recorded. */
const lateMax = 100;
/** Answers that may be another one the next time; 0: there was none. */
const passingCodes = new Set([0, 408, 409, 429, 500, 502, 503, 504]);
const stalls: ReadonlySet<EventReason> = new Set(stallReasons);
/** What needs a person, and its end: never left out. */
const urgentReasons: ReadonlySet<EventReason> = new Set<EventReason>([
  ...stallReasons,
  'StallEnded',
  'QuorumRestored',
]);

interface Known {
  readonly name: string;
  atMs: number;
  count: number;
}

interface Late {
  readonly object: KubernetesObject;
  readonly event: EventNote;
}

/** Of more than are remembered: objects come and go for years. */
function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size > knownMax && oldest !== undefined) map.delete(oldest);
}

/**
 * Events about objects of ours. The same note again within five minutes counts up the one that is there; of each object a burst of
 * different ones is told, then one in five minutes, but for those that need a person. One that the API server did not take is told
 * with the next chance.
 */
export class EventRecorder {
  readonly #api: KubernetesApi;
  readonly #runtime: Runtime;
  readonly #log: Log;
  readonly #instance: string;
  readonly #known = new Map<string, Known>();
  /** Events of an object that may still be told, as of a moment; warnings have a number of their own. */
  readonly #budgets = new Map<string, { atMs: number; rest: number }>();
  /** When what needs a person was last told of an object: other words for it within five minutes are not urgent. */
  readonly #stalls = new Map<string, number>();
  readonly #late: Late[] = [];

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

  /** Whether something waits to be told. */
  get isBehind(): boolean {
    return this.#late.length > 0;
  }

  async record(object: KubernetesObject, event: EventNote): Promise<void> {
    this.#late.push({ object, event });
    if (this.#late.length > lateMax) {
      const least = this.#late.findIndex((late) => !urgentReasons.has(late.event.reason));
      this.#late.splice(Math.max(0, least), 1);
    }
    await this.catchUp();
  }

  /** Tells what waits, in its order, as far as the API server takes it. */
  async catchUp(): Promise<void> {
    for (let late = this.#late.shift(); late !== undefined; late = this.#late.shift()) {
      try {
        await this.#tell(late);
      } catch (error) {
        this.#log.warn(
          { object: late.object.metadata.name },
          `event not recorded: ${String(error)}`,
        );
        if (!passingCodes.has(codeOf(error) ?? 400)) continue;
        this.#late.unshift(late);
        return;
      }
    }
  }

  async #tell({ object, event }: Late): Promise<void> {
    const now = this.#runtime.clock.now();
    const key = `${object.metadata.uid ?? ''} ${event.reason} ${event.note}`;
    const known = this.#known.get(key);
    if (known !== undefined && now - known.atMs < repeatMs) {
      await this.#repeat(object, known, now);
      return;
    }
    const budget = `${object.metadata.uid ?? ''} ${event.type}`;
    if (this.#isUrgent(object, event, now) || this.#isAffordable(budget, now))
      await this.#create(object, event, key, now);
  }

  /** The scheduler has ever other words for one cause. */
  #isUrgent({ metadata }: KubernetesObject, { reason }: EventNote, now: number): boolean {
    if (!stalls.has(reason)) return urgentReasons.has(reason);
    const toldMs = this.#stalls.get(`${metadata.uid ?? ''} ${reason}`) ?? Number.NEGATIVE_INFINITY;
    return now - toldMs >= repeatMs;
  }

  /** A burst, which fills again by one in five minutes. */
  #isAffordable(budget: string, now: number): boolean {
    const before = this.#budgets.get(budget) ?? { atMs: now, rest: burstMax };
    const rest = Math.min(burstMax, before.rest + (now - before.atMs) / repeatMs);
    const isThere = rest >= 1;
    this.#budgets.delete(budget);
    this.#budgets.set(budget, { atMs: now, rest: isThere ? rest - 1 : rest });
    dropOldest(this.#budgets);
    return isThere;
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
    if (!stalls.has(event.reason)) return;
    this.#stalls.set(`${uid ?? ''} ${event.reason}`, now);
    dropOldest(this.#stalls);
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
