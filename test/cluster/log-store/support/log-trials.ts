import assert from 'node:assert/strict';
import { SegmentLog } from '#cluster/log-store/segment-log.ts';
import type { Entry, HardState } from '#raft/vocabulary.ts';
import { seeded } from '../../../raft/support/random.ts';
import { SimulatedDisk } from './simulated-disk.ts';

// The goal: whatever the disk does, what was acknowledged is found again, and what is found was written. The method: random
// operations over a simulated disk, next to a list; at every flush, flip or full disk the log is opened and compared with the list.

const storageId = '6b1f0c52-8a70-4c3f-9d5e-0123456789ab';
const segmentBytes = 4096;

interface Place {
  readonly index: number;
  readonly term: number;
}

type Operation =
  | {
      readonly kind: 'append';
      readonly entries: readonly Entry[];
      readonly hardState: HardState | undefined;
      readonly mustSync: boolean;
    }
  | { readonly kind: 'compact' | 'reset'; readonly to: Place }
  | { readonly kind: 'upkeep' }
  | { readonly kind: 'restart' };

/** What a log may hold. */
interface State {
  readonly entries: readonly Entry[];
  readonly hardState: HardState;
}

/** The list next to the log. */
export class Model {
  /** What is promised. */
  promised: State = { entries: [], hardState: { term: 0, vote: null, commit: 0 } };
  /** What may be found beyond it: each record on its way makes one more state. */
  possible: State[] = [this.promised];
  after: Place = { index: 0, term: 0 };

  get newest(): State {
    return this.possible.at(-1) as State;
  }

  begin(operation: Operation): void {
    if (operation.kind === 'append') {
      for (const entry of operation.entries) {
        const kept = this.newest.entries.filter(({ index }) => index < entry.index);
        if (kept.length < this.newest.entries.length) this.#next({ entries: kept });
        this.#next({ entries: [...kept, entry] });
      }
      if (operation.hardState !== undefined) this.#next({ hardState: operation.hardState });
    }
    if (operation.kind === 'reset') this.#next({ entries: [] });
    if (operation.kind === 'compact' || operation.kind === 'reset') this.after = operation.to;
  }

  promise(): void {
    this.promised = this.newest;
    this.possible = [this.promised];
  }

  #next(change: Partial<State>): void {
    this.possible.push({ ...this.newest, ...change });
  }

  /** The log goes on from what was found. */
  settle(found: State): void {
    this.promised = found;
    this.possible = [found];
  }
}

function textOf({ entries, hardState }: State, after: Place): string {
  const kept = entries.filter(({ index }) => index > after.index);
  const first = kept[0]?.index === after.index + 1 ? kept : [];
  return JSON.stringify([
    first.map(({ index, term, kind, data }) => [index, term, kind, data.length, data[0]]),
    hardState,
  ]);
}

export function openOn(disk: SimulatedDisk, after: Place) {
  return SegmentLog.open({
    directory: 'raft',
    storageId,
    after,
    segmentBytes,
    newestBytesMax: 1e9,
    disk,
  });
}

/** @returns the log; what it found is one of the states that may be */
export function openAndCompare(disk: SimulatedDisk, model: Model, label: string) {
  const opened = openOn(disk, model.after);
  const found = { entries: opened.recovered.newest, hardState: opened.recovered.hardState };
  const text = textOf(found, model.after);
  const match = model.possible.find((state) => textOf(state, model.after) === text);
  assert.ok(match, `${label}: found ${text}, promised ${textOf(model.promised, model.after)}`);
  return { ...opened, match };
}

export function randomOperations(seed: number, count: number): Operation[] {
  const random = seeded(seed);
  const operations: Operation[] = [];
  let terms: number[] = [];
  let before = 0;
  let term = 1;
  for (let i = 0; i < count; i++) {
    const choice = random(20);
    const last = before + terms.length;
    if (choice < 14) {
      if (random(4) === 0) term += 1;
      const first = Math.max(before + 1, last + 1 - (random(5) === 0 ? random(4) : 0));
      const entries = Array.from({ length: random(4) }, (_, j) => ({
        index: first + j,
        term,
        kind: random(9) === 0 ? ('conf' as const) : ('normal' as const),
        data: Buffer.alloc(random(900), i),
      }));
      if (entries.length > 0)
        terms = [...terms.slice(0, first - before - 1), ...entries.map(() => term)];
      const hardState =
        random(2) === 0 ? { term, vote: `n${random(3)}`, commit: before } : undefined;
      operations.push({ kind: 'append', entries, hardState, mustSync: random(4) > 0 });
    } else if (choice < 16 && terms.length > 2) {
      const count = 1 + random(terms.length - 1);
      const to = { index: before + count, term: terms[count - 1] ?? 0 };
      operations.push({ kind: 'compact', to });
      terms = terms.slice(count);
      before = to.index;
    } else if (choice < 17) {
      term += 1;
      before = last + 1 + random(5);
      operations.push({ kind: 'reset', to: { index: before, term } });
      terms = [];
    } else operations.push({ kind: choice < 19 ? 'upkeep' : 'restart' });
  }
  return operations;
}

/** Runs the operations; `log` is another one after a restart. */
export class Run {
  readonly disk: SimulatedDisk;
  readonly model = new Model();
  log: SegmentLog;

  constructor(disk: SimulatedDisk) {
    this.disk = disk;
    this.log = openOn(disk, this.model.after).log;
  }

  do(operation: Operation): void {
    this.model.begin(operation);
    switch (operation.kind) {
      case 'append':
        this.log.append(operation);
        if (!operation.mustSync) return;
        break;
      case 'compact':
        this.log.purgeTo(operation.to.index);
        return;
      case 'reset':
        this.log.reset(operation.to.index, this.model.newest.hardState);
        break;
      case 'upkeep':
        while (this.log.upkeep());
        return;
      case 'restart':
        this.log.close();
        this.log = openAndCompare(this.disk, this.model, 'restart').log;
    }
    this.model.promise();
  }

  /** After a failure: everything is read anew. */
  reopen(label: string): void {
    this.log.abandon();
    const { log, match } = openAndCompare(this.disk, this.model, label);
    this.log = log;
    this.model.settle(match);
  }
}

const subsetsOfAtMost = 7;

/** Every subset of what is not flushed is lost, at every flush. @returns crashes that were tried */
export function crashEverywhere(seed: number, operationCount: number): number {
  const random = seeded(seed * 7919);
  let crashes = 0;
  const disk = new SimulatedDisk();
  const run = new Run(disk);
  const tryAll = (label: string) => {
    const n = disk.pendingCount;
    const isSmall = n <= subsetsOfAtMost;
    const count = isSmall ? 1 << n : 24;
    for (let subset = 0; subset < count; subset++) {
      const cut = random(n + 1);
      const survives = isSmall
        ? (i: number) => ((subset >> i) & 1) === 1
        : subset % 2 === 0
          ? (i: number) => i < cut
          : () => random(2) === 0;
      crashes += 1;
      const after = disk.crashed(survives);
      const { log, match, recovered } = openAndCompare(after, run.model, `${label} ${subset}`);
      if (random(6) > 0) continue;
      // What a crash leaves is a log like any other: a second crash, in the middle of nothing, takes nothing away.
      const again = openOn(
        after.crashed(() => false),
        run.model.after,
      ).recovered;
      assert.equal(again.last, recovered.last, label);
      const next = {
        index: log.last + 1,
        term: 99,
        kind: 'normal',
        data: Buffer.alloc(3),
      } as const;
      log.append({ entries: [next], hardState: undefined, mustSync: true });
      const third = openOn(
        after.crashed(() => false),
        run.model.after,
      ).recovered;
      assert.deepEqual([third.last, third.newest.at(-1)?.term], [next.index, 99], label);
      assert.deepEqual(third.hardState, match.hardState, label);
    }
  };
  randomOperations(seed, operationCount).forEach((operation, i) => {
    disk.beforeFlush = () => tryAll(`seed ${seed} operation ${i}`);
    run.do(operation);
    tryAll(`seed ${seed} after operation ${i}`);
  });
  return crashes;
}

const refusals =
  /damaged|cannot be read|goes? (on )?from|go on|belongs|is missing|number|begins|no entry/;

/** Every `step`th byte of a log that was closed is changed: it is refused, or nothing is missing. @returns flips */
export function flipEverywhere(seed: number, operationCount: number, step: number): number {
  const disk = new SimulatedDisk();
  const run = new Run(disk);
  for (const operation of randomOperations(seed, operationCount)) run.do(operation);
  run.log.close();
  run.model.promise();
  let flips = 0;
  for (const name of disk.names().filter((name) => !name.includes('spare')))
    for (let at = seed % step; at < disk.readWhole(name).length; at += step) {
      flips += 1;
      const damaged = disk.crashed(() => true);
      damaged.damage(name, at, at % 8);
      try {
        openAndCompare(damaged, run.model, `seed ${seed} ${name} byte ${at}`);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        assert.match((error as Error).message, refusals);
      }
    }
  return flips;
}

/** The disk is full at every `step`th byte; then there is space again. @returns failures that were met */
export function fillEverywhere(seed: number, operationCount: number, step: number): number {
  const operations = randomOperations(seed, operationCount);
  let failures = 0;
  const end = operationCount * 1500;
  for (let capacity = seed % step; capacity < end; capacity += step) {
    const disk = new SimulatedDisk();
    disk.writeBytesMax = 700;
    const run = new Run(disk);
    disk.capacity = capacity;
    for (const operation of operations) {
      const label = `seed ${seed} capacity ${capacity}`;
      const before = run.model.newest;
      try {
        run.do(operation);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        failures += 1;
        vote(run, before, 100 + failures);
        disk.capacity = Number.POSITIVE_INFINITY;
        run.reopen(label);
        break;
      }
    }
    openAndCompare(
      disk.crashed(() => false),
      run.model,
      `seed ${seed} capacity ${capacity} end`,
    );
  }
  return failures;
}

/** What the reserve gives back is enough for a vote, and the vote is durable. */
function vote({ disk, log, model }: Run, before: State, term: number): void {
  if (disk.names().length === 0) return;
  disk.capacity = disk.usedBytes + 4096;
  const hardState = { term, vote: 'reserve', commit: 0 };
  log.appendVote(hardState);
  // Nothing of what failed counts behind it.
  model.settle({ ...before, hardState });
}

/** Each flush in turn fails and drops what it had: what a restart in place then finds outlives a loss of power. */
export function failEachFlush(seed: number, operationCount: number): number {
  const operations = randomOperations(seed, operationCount);
  for (let flush = 0; ; flush++) {
    const disk = new SimulatedDisk();
    const run = new Run(disk);
    disk.flushesUntilFailure = flush;
    const label = `seed ${seed} flush ${flush}`;
    let hasFailed = false;
    for (const operation of operations) {
      try {
        run.do(operation);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error;
        hasFailed = true;
        disk.flushesUntilFailure = Number.POSITIVE_INFINITY;
        run.reopen(label);
        break;
      }
    }
    openAndCompare(
      disk.crashed(() => false),
      run.model,
      `${label} and power`,
    );
    if (!hasFailed) return flush;
  }
}
