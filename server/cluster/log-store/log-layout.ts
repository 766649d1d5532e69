import type { Index, Term } from '#raft/vocabulary.ts';

/** A segment file and the entries of it that hold. */
export interface Segment {
  readonly number: number;
  readonly path: string;
  /** Of its first entry that holds; of the next one when there is none. */
  firstIndex: Index;
  /** Where each entry stands in the file, from `firstIndex` on. */
  readonly starts: number[];
}

/** From this index on entries have this term, until the next one. */
export interface TermRun {
  readonly from: Index;
  readonly term: Term;
}

/** Which entries the log holds and where: segments in order, without a gap between their entries. */
export class LogLayout {
  readonly segments: Segment[] = [];
  readonly runs: TermRun[] = [];
  /** Index of the last entry; `before` when there is none. */
  last: Index = 0;

  get first(): Index {
    return this.segments.find(({ starts }) => starts.length > 0)?.firstIndex ?? this.last + 1;
  }

  get isEmpty(): boolean {
    return this.first > this.last;
  }

  /** The next entry, in the newest segment. */
  add(at: number, term: Term): void {
    this.last += 1;
    const segment = this.segments.at(-1) as Segment;
    if (segment.starts.length === 0) segment.firstIndex = this.last;
    segment.starts.push(at);
    if (this.runs.at(-1)?.term !== term) this.runs.push({ from: this.last, term });
  }

  /** Entries from `index` on are void. */
  cutFrom(index: Index): void {
    if (index > this.last) return;
    for (const { firstIndex, starts } of this.segments)
      starts.length = Math.min(starts.length, Math.max(0, index - firstIndex));
    while ((this.runs.at(-1)?.from ?? 0) >= index) this.runs.pop();
    this.last = index - 1;
  }

  /** Nothing holds; the next entry follows `index`. */
  restart(index: Index): void {
    for (const { starts } of this.segments) starts.length = 0;
    this.runs.length = 0;
    this.last = index;
  }

  termOf(index: Index): Term | undefined {
    if (index > this.last || index < this.first) return undefined;
    return this.runs.findLast(({ from }) => from <= index)?.term;
  }

  placeOf(index: Index): { readonly segment: Segment; readonly at: number } | undefined {
    const segment = this.segments.findLast(
      ({ firstIndex, starts }) => firstIndex <= index && index < firstIndex + starts.length,
    );
    const at = segment?.starts[index - segment.firstIndex];
    return segment === undefined || at === undefined ? undefined : { segment, at };
  }

  /** Takes off the oldest segments that hold nothing above `index`; the newest one stays. */
  takeBelow(index: Index): Segment[] {
    const taken: Segment[] = [];
    while (this.segments.length > 1) {
      const { firstIndex, starts } = this.segments[0] as Segment;
      if (starts.length > 0 && firstIndex + starts.length - 1 > index) break;
      taken.push(this.segments.shift() as Segment);
    }
    const first = this.first;
    while (this.runs.length > 1 && (this.runs[1]?.from ?? 0) <= first) this.runs.shift();
    return taken;
  }
}
