import type { LogView } from '#raft/log.ts';
import type { SnapshotMeta } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { Entry, HardState, Index, Term } from '#raft/vocabulary.ts';

/** A log on a simulated disk: what was written since the last flush is lost at a crash. */
export class StoredLog implements LogView {
  hardState: HardState = { term: 0, vote: null, commit: 0 };
  #before: { readonly index: Index; readonly term: Term } = { index: 0, term: 0 };
  #entries: Entry[] = [];
  #snapshot: SnapshotMeta | undefined;

  firstIndex(): Index {
    return this.#before.index + 1;
  }

  lastIndex(): Index {
    return this.#before.index + this.#entries.length;
  }

  term(index: Index): Term | 'compacted' | 'unavailable' {
    if (index === this.#before.index) return this.#before.term;
    if (index < this.#before.index) return 'compacted';
    return this.#entries[index - this.firstIndex()]?.term ?? 'unavailable';
  }

  entries(low: Index, high: Index, bytesMax: number): readonly Entry[] | 'compacted' {
    if (low < this.firstIndex()) return 'compacted';
    const found: Entry[] = [];
    let bytes = 0;
    for (const entry of this.#entries.slice(low - this.firstIndex(), high - this.firstIndex())) {
      bytes += entry.data.length;
      if (found.length > 0 && bytes > bytesMax) break;
      found.push(entry);
    }
    return found;
  }

  snapshotMeta(): SnapshotMeta | undefined {
    return this.#snapshot;
  }

  write(job: Pick<AppendJob, 'entries' | 'hardState' | 'snapshot'>): void {
    if (job.snapshot !== undefined) {
      this.#before = { index: job.snapshot.index, term: job.snapshot.term };
      this.#entries = [];
      this.#snapshot = job.snapshot;
    }
    const first = job.entries[0];
    if (first !== undefined) {
      this.#entries.length = Math.min(this.#entries.length, first.index - this.firstIndex());
      this.#entries.push(...job.entries);
    }
    if (job.hardState !== undefined) this.hardState = job.hardState;
  }

  compactTo({ index, conf, confIndex }: Omit<SnapshotMeta, 'body'>): void {
    if (index <= this.#before.index) return;
    const term = this.term(index);
    if (typeof term !== 'number') throw new Error(`nothing at ${index}`);
    this.#entries = this.#entries.slice(index - this.#before.index);
    this.#before = { index, term };
    this.#snapshot = { index, term, conf, confIndex, body: new Uint8Array(0) };
  }

  /** Another disk in its place. */
  wipe(): void {
    this.hardState = { term: 0, vote: null, commit: 0 };
    this.#before = { index: 0, term: 0 };
    this.#entries = [];
    this.#snapshot = undefined;
  }

  all(): readonly Entry[] {
    return this.#entries;
  }
}
