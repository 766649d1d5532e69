import type { BackupObject } from '../../api/kinds/backup.ts';
import type { RestoreObject } from '../../api/kinds/restore.ts';
import type { ScheduledBackupObject } from '../../api/kinds/scheduled-backup.ts';
import type { KubernetesObject } from '../../api/kubernetes-object.ts';
import { EventRecorder } from '../event-recorder.ts';
import { lookAtBackup } from './backup-controller.ts';
import type { KindContext } from './backup-controller.ts';
import { lookAtRestore } from './restore-controller.ts';
import { lookAtSchedule } from './schedule-controller.ts';
import { LongCalls } from './long-calls.ts';

/** The kinds beside `Cluster` that the operator looks at. */
export const ownKinds = ['Backup', 'ScheduledBackup', 'Restore'] as const;
export type OwnKind = (typeof ownKinds)[number];

export function isOwnKind(kind: string): kind is OwnKind {
  return (ownKinds as readonly string[]).includes(kind);
}

export interface KindControllerOptions extends Omit<KindContext, 'calls' | 'events'> {
  /** Name of this process in events. */
  readonly instance: string;
  /** Told of an object whose long call ended. */
  readonly onSettled: (kind: OwnKind, namespace: string | undefined, name: string) => void;
}

interface Address {
  readonly kind: OwnKind;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** One look at one object of a kind beside `Cluster`. */
export class KindController {
  readonly #context: KindContext;
  /** By the name that long calls know an object by. */
  readonly #addresses = new Map<string, Address>();

  constructor(options: KindControllerOptions) {
    const calls = new LongCalls(options.runtime, (owner) => {
      const address = this.#addresses.get(owner);
      if (address !== undefined) options.onSettled(address.kind, address.namespace, address.name);
    });
    this.#context = { ...options, calls, events: new EventRecorder(options) };
  }

  /**
   * @returns when to look again if nothing happens: 0 at once, undefined at the next resync
   * @throws KubernetesError and MemberError that may pass by themselves
   */
  async look(
    kind: OwnKind,
    namespace: string | undefined,
    name: string,
  ): Promise<number | undefined> {
    const owner = `${kind}/${namespace ?? ''}/${name}`;
    const found = await this.#context.reader.get(kind, namespace, name);
    if (found === undefined) {
      this.#addresses.delete(owner);
      this.#context.calls.forget(owner);
      return undefined;
    }
    this.#addresses.set(owner, { kind, namespace, name });
    return this.#lookAt(found, owner);
  }

  #lookAt(object: KubernetesObject, owner: string): Promise<number | undefined> {
    if (object.kind === 'ScheduledBackup')
      return lookAtSchedule(object as ScheduledBackupObject, this.#context);
    if (object.kind === 'Restore')
      return lookAtRestore(object as RestoreObject, owner, this.#context);
    return lookAtBackup(object as BackupObject, owner, this.#context);
  }
}
