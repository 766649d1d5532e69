import type { SimulatedApi, StoredObject } from './simulated-api.ts';
import type { SimulatedMembers } from './simulated-members.ts';

/*
 * What Jobs of backups bring about: archives outside of the members, archives that come back to a volume. The commands themselves are
 * tested with a real directory and a double of a storage.
 */

interface Outcome {
  readonly result?: object;
  readonly message?: string;
}

export class SimulatedStreams {
  /** By name in the storage. */
  readonly kept = new Map<string, { readonly database: string; readonly writes: number }>();
  /** Databases that cannot be kept, and why. */
  readonly failing = new Map<string, string>();
  /** Jobs stay as they are. */
  isHeld = false;
  /** Results that are lost with their pods. */
  resultsToLose = 0;
  #pods = 0;

  run(job: StoredObject, api: SimulatedApi, members: SimulatedMembers): void {
    if (!this.isHeld) this.#end(job, api, this.#carryOut(job, api, members));
  }

  #carryOut(job: StoredObject, api: SimulatedApi, members: SimulatedMembers): Outcome {
    const spec = (job.spec as { template: { spec: PodSpec } }).template.spec;
    const words = spec.containers[0]?.command ?? [];
    const all = (name: string) =>
      words.flatMap((word) => (word.startsWith(`--${name}=`) ? word.slice(name.length + 3) : []));
    const one = (name: string) => all(name)[0] ?? '';
    switch (words[2]) {
      case 'backup-stream':
        return this.#keep(one('database'), one('name'));
      case 'fetch-archive': {
        if (all('url').length === 0 && !this.kept.has(one('name')))
          return { message: `there is no ${one('name')}` };
        const volume = spec.volumes?.find(({ name }) => name === 'member');
        const claimName = volume?.persistentVolumeClaim?.claimName ?? '';
        const claim = api.find('PersistentVolumeClaim', claimName, job.metadata.namespace);
        const [database = '', file = ''] = one('file').split('/');
        members.archivesOf(claim)?.put(database, file);
        return { result: {} };
      }
      case 'delete-archives':
        for (const name of all('name')) this.kept.delete(name);
        return { result: {} };
      default:
        return { message: `unknown command ${String(words[2])}` };
    }
  }

  #keep(database: string, name: string): Outcome {
    const failure = this.failing.get(database);
    if (failure !== undefined) return { message: failure };
    const writes = (this.kept.get(name)?.writes ?? 0) + 1;
    this.kept.set(name, { database, writes });
    return { result: { member: 'm', bytes: 1000, sha256: 'a'.repeat(64), commitIndex: 7 } };
  }

  #end(job: StoredObject, api: SimulatedApi, { result, message }: Outcome): void {
    const { name, namespace, labels = {}, uid = '' } = job.metadata;
    const isGood = result !== undefined;
    const said = isGood ? JSON.stringify(result) : (message ?? '');
    const terminated = { exitCode: isGood ? 0 : 1, message: said };
    const isLost = isGood && this.resultsToLose > 0;
    if (isLost) this.resultsToLose--;
    else
      api.put({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `${name}-${++this.#pods}`,
          ...(namespace === undefined ? undefined : { namespace }),
          labels,
          ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }],
        },
        status: {
          phase: isGood ? 'Succeeded' : 'Failed',
          containerStatuses: [{ name: 'backup', state: { terminated } }],
        },
      } as StoredObject);
    const condition = { type: isGood ? 'Complete' : 'Failed', status: 'True' };
    api.change('Job', name, { status: { conditions: [condition] } }, namespace);
  }
}

interface PodSpec {
  readonly containers: readonly { readonly command?: readonly string[] }[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly persistentVolumeClaim?: { readonly claimName: string };
  }[];
}
