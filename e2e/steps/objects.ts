import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { type Budget, budgetMs, noteUse } from '../config/timeouts.ts';
import { must, type Outcome, run } from './programs.ts';

/** A Kubernetes object as JSON, as far as the scenarios look into it. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation?: number;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly [part: string]: unknown;
}

/** The value at a path like `status.phase`; undefined where there is none. */
export function valueAt(object: KubernetesObject | undefined, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}

type Condition = Readonly<Record<'type' | 'status' | 'reason' | 'message', string>>;

function conditionsOf(object: KubernetesObject | undefined): readonly Condition[] {
  return (valueAt(object, 'status.conditions') ?? []) as readonly Condition[];
}

export type Manifest = Readonly<Record<string, unknown>>;

/** Reads and writes objects of one namespace through kubectl, as a user does. */
export class Namespace {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  kubectl(words: readonly string[], input?: string): Promise<string> {
    return must('kubectl', ['-n', this.name, ...words], input);
  }

  tryKubectl(words: readonly string[], input?: string): Promise<Outcome> {
    return run('kubectl', ['-n', this.name, ...words], input);
  }

  async apply(...manifests: readonly Manifest[]): Promise<void> {
    await this.kubectl(['apply', '-f', '-'], JSON.stringify(listOf(manifests)));
  }

  async get(kind: string, name: string): Promise<KubernetesObject | undefined> {
    const { isGood, output } = await this.tryKubectl(['get', kind, name, '-o', 'json']);
    return isGood ? (JSON.parse(output) as KubernetesObject) : undefined;
  }

  async require(kind: string, name: string): Promise<KubernetesObject> {
    return JSON.parse(await this.kubectl(['get', kind, name, '-o', 'json'])) as KubernetesObject;
  }

  async list(kinds: string, ...words: readonly string[]): Promise<readonly KubernetesObject[]> {
    const text = await this.kubectl(['get', kinds, '-o', 'json', ...words]);
    return (JSON.parse(text) as { items: KubernetesObject[] }).items;
  }

  async patch(kind: string, name: string, change: object): Promise<void> {
    await this.kubectl(['patch', kind, name, '--type=merge', '-p', JSON.stringify(change)]);
  }

  /**
   * Watches an object until it is as wanted. `undefined` stands for an object that is not there.
   * @throws Error with the last five states seen when the budget is used up
   */
  async waitFor(
    kind: string,
    name: string,
    what: string,
    budget: Budget,
    isWanted: (object: KubernetesObject | undefined) => boolean,
  ): Promise<KubernetesObject | undefined> {
    const start = performance.now();
    const deadline = start + budgetMs(budget);
    const seen: string[] = [];
    const note = (object: KubernetesObject | undefined): boolean => {
      const text = summaryOf(object);
      if (seen.at(-1) !== text) seen.push(text);
      if (!isWanted(object)) return false;
      noteUse(budget, performance.now() - start);
      return true;
    };
    while (performance.now() < deadline) {
      const current = await this.get(kind, name);
      if (note(current)) return current;
      const found = await this.#watch(kind, name, deadline - performance.now(), note);
      if (found !== undefined) return found;
    }
    throw new Error(
      `${kind}/${name}: not ${what} within ${budgetMs(budget) / 1000} s (${budget}); last states:\n  ${seen.slice(-5).join('\n  ')}`,
    );
  }

  /** Sees changes as they come, for a while: an object that is not there yet is asked for again. */
  #watch(
    kind: string,
    name: string,
    ms: number,
    isWanted: (object: KubernetesObject) => boolean,
  ): Promise<KubernetesObject | undefined> {
    return new Promise((settle) => {
      const words = ['-n', this.name, 'get', kind, name, '-o', 'json', '--watch-only'];
      const child = spawn('kubectl', [...words, '--output-watch-events'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let text = '';
      const end = (found: KubernetesObject | undefined): void => {
        clearTimeout(timer);
        child.kill();
        settle(found);
      };
      // Short watches: whatever slipped between asking and watching is seen at the next turn.
      const timer = setTimeout(() => end(undefined), Math.max(50, Math.min(ms, 3_000)));
      child.stdout.on('data', (chunk) => {
        text += String(chunk);
        for (let cut = text.indexOf('\n}\n'); cut >= 0; cut = text.indexOf('\n}\n')) {
          const event = JSON.parse(text.slice(0, cut + 2)) as {
            type: string;
            object: KubernetesObject;
          };
          text = text.slice(cut + 3);
          if (event.type !== 'DELETED' && isWanted(event.object)) return end(event.object);
          if (event.type === 'DELETED') return end(undefined);
        }
      });
      child.once('error', () => end(undefined));
      // kubectl ends at once when the object is not there.
      child.once('exit', () => {
        clearTimeout(timer);
        void pause(200).then(() => settle(undefined));
      });
    });
  }

  async waitGone(kind: string, name: string, budget: Budget): Promise<void> {
    await this.waitFor(kind, name, 'gone', budget, (object) => object === undefined);
  }
}

/** Pods of the members, also of a release of the chart: as their StatefulSet selects them. */
export function memberPods(
  namespace: Namespace,
  cluster: string,
): Promise<readonly KubernetesObject[]> {
  const labels = `app.kubernetes.io/name=polyad,app.kubernetes.io/instance=${cluster}`;
  return namespace.list('pods', '-l', labels);
}

function listOf(manifests: readonly Manifest[]): object {
  return { apiVersion: 'v1', kind: 'List', items: manifests };
}

function summaryOf(object: KubernetesObject | undefined): string {
  if (object === undefined) return 'not there';
  const told = conditionsOf(object).map(
    ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
  );
  const { generation } = object.metadata;
  return `generation ${generation} phase ${valueAt(object, 'status.phase')} ${told.join('; ')}`.slice(
    0,
    900,
  );
}

/** The status of a condition: True, False, Unknown, or undefined. */
export function conditionOf(
  object: KubernetesObject | undefined,
  type: string,
): string | undefined {
  return conditionsOf(object).find((condition) => condition.type === type)?.status;
}

/** Reason and message of a condition; empty when it is not there. */
export function reasonOf(object: KubernetesObject | undefined, type: string): string {
  const found = conditionsOf(object).find((condition) => condition.type === type);
  return found === undefined ? '' : `${found.reason}: ${found.message}`;
}

/** Ready of the generation that the object has now. */
export function isReady(object: KubernetesObject | undefined): boolean {
  return (
    conditionOf(object, 'Ready') === 'True' &&
    valueAt(object, 'status.observedGeneration') === object?.metadata.generation
  );
}
