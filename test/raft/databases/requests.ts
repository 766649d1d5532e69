import { decodeEntry, entryKind } from '#cluster/replication/entry-codec.ts';
import { decodeTransaction } from '#cluster/replication/write-sets.ts';
import { isReplayKeyName } from '#database/session/replay-keys.ts';
import type { Entry, Index } from '#raft/vocabulary.ts';
import type { LogEntry } from '#storage/engine.ts';

interface Told {
  readonly key: string;
  readonly outcome: 'ok' | 'failed' | 'unknown';
  /** What the answer said in its header of the commit index. */
  readonly bookmark: Index | undefined;
}

const nowhere = { index: 0, txId: 0 } as unknown as LogEntry['position'];
const answerPrefix = 'dedupe/answer/';

/**
 * Which requests the log holds, beside what their clients were told (ha-testing.md 4.2). C9: who was refused is not in it, with
 * whatever code. C10: the commit index of an answer is no less than the index of its write. Each is there once at most.
 */
export class LoggedRequests {
  readonly #indexes = new Map<string, Index[]>();
  readonly #told: Told[] = [];
  #newest: Index = 0;

  /** An entry that some server applies. */
  applied({ index, kind, data }: Entry): void {
    if (index <= this.#newest || kind !== 'normal' || data.length === 0) return;
    this.#newest = index;
    const entry = decodeEntry(data);
    if (entry.kind !== entryKind.transaction) return;
    for (const operation of decodeTransaction(entry.body, nowhere).operations ?? []) {
      if (operation.op !== 'meta' || operation.value === undefined) continue;
      const { name, value } = operation;
      if (!isReplayKeyName(name) || name === 'dedupe/used' || name.startsWith(answerPrefix))
        continue;
      const { key } = JSON.parse(Buffer.from(value).toString()) as { readonly key: string };
      this.#indexes.set(key, [...(this.#indexes.get(key) ?? []), index]);
    }
  }

  told(key: string, outcome: Told['outcome'], bookmark?: Index): void {
    this.#told.push({ key, outcome, bookmark });
  }

  /** Requests that were answered and are in the log: without any nothing was checked. */
  get count(): number {
    return this.#told.filter(({ key, outcome }) => outcome === 'ok' && this.#indexes.has(key))
      .length;
  }

  problems(): string[] {
    return this.#told.flatMap(({ key, outcome, bookmark = 0 }) => {
      const [index, ...others] = this.#indexes.get(key) ?? [];
      if (index === undefined) return [];
      return [
        ...(others.length > 0 ? [`C1: ${key} stands at ${[index, ...others]}`] : []),
        ...(outcome === 'failed' ? [`C9: ${key} was refused and stands at ${index}`] : []),
        ...(outcome === 'ok' && bookmark < index
          ? [`C10: ${key} stands at ${index}, and its answer said ${bookmark}`]
          : []),
      ];
    });
  }
}
