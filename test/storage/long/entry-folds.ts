import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogIndex } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import type { LmdbEngineOptions } from '#storage/lmdb-options.ts';

// Two engines apply one log, with checkpoints, compactions, copies and ends at other times, under low bounds for what stands beside the
// chunks of an index. Whatever is under way, the index in chunks has what one without them has, and both engines have the same.

await import('../../crash/attack/low-bounds.ts');
const { openEngine, person, put } = await import('../engine-fixture.ts');
const { deriver, entriesOf, filler, plain, words } = await import('../chunked-fixture.ts');

const seedFirst = Number(process.env['SEED'] ?? 1);
const seedCount = 8;
const stepCount = 150;
const personCount = 900;

function requireEqual(engine: LmdbEngine, what: string): string[] {
  using snapshot = engine.snapshot();
  const wanted = entriesOf(snapshot, plain.id);
  assert.deepEqual(entriesOf(snapshot, words.id), wanted, what);
  assert.equal(snapshot.entryCount(words.id), wanted.length, what);
  return wanted;
}

function temporary(): string {
  return mkdtempSync(join(tmpdir(), 'polyad-folds-'));
}

/** One of the two. */
class Copy {
  readonly #directory = temporary();
  readonly #options: Partial<LmdbEngineOptions>;
  engine: LmdbEngine;

  constructor(options: Partial<LmdbEngineOptions>) {
    this.#options = { deriver, ...options };
    this.engine = openEngine(this.#directory, this.#options);
  }

  apply(index: number, rows: ReadonlyMap<number, Record<string, string> | undefined>) {
    const { engine } = this;
    const changes = [...rows].map(([at, row]) =>
      row === undefined
        ? { op: 'delete-row' as const, rid: person(at) }
        : put(engine, person(at), row),
    );
    const operations = [...engine.shapes.definitionsFor(changes), ...changes];
    return engine.apply([
      { position: { index: index as LogIndex, term: 1, txId: index }, operations },
    ]);
  }

  async reopen(): Promise<void> {
    await this.engine.close();
    this.engine = openEngine(this.#directory, this.#options);
  }

  /** What a copy amid everything holds. */
  async requireCopied(what: string): Promise<void> {
    const directory = temporary();
    await this.engine.copyTo(directory);
    const copied = openEngine(directory, this.#options);
    requireEqual(copied, what);
    await copied.close();
    rmSync(directory, { recursive: true });
  }

  async end(): Promise<void> {
    await this.engine.close();
    rmSync(this.#directory, { recursive: true });
  }
}

class Run {
  readonly #copies = [new Copy({}), new Copy({ durability: 'above' })] as const;
  #state: number;
  #index = 0;
  #lastCommit: Promise<unknown> = Promise.resolve();
  readonly #underWay: Promise<unknown>[] = [];
  readonly #held: { readonly snapshot: StorageSnapshot; readonly entries: string[] }[] = [];

  constructor(seed: number) {
    this.#state = seed * 7919 + 1;
  }

  #below(bound: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * bound);
  }

  get #one(): Copy {
    return this.#copies[this.#below(2) as 0 | 1];
  }

  async step(what: string): Promise<void> {
    const kind = this.#below(20);
    if (kind < 8) await this.#commit(1, '');
    else if (kind < 12) await this.#commit(10, '');
    else if (kind === 12) await this.#commit(60, filler);
    else if (kind === 13) await this.#commit(400, this.#below(2) === 0 ? filler : '');
    else if (kind < 16) this.#underWay.push(this.#one.engine.checkpoint());
    else if (kind === 16) await this.#compact();
    else if (kind === 17) await sleep(this.#below(2) === 0 ? 5 : 300);
    else if (kind === 18) await this.#hold();
    else await this.#look(what);
    for (const { engine } of this.#copies) requireEqual(engine, what);
  }

  async #commit(count: number, extra: string): Promise<void> {
    const from = this.#below(600);
    const rows = new Map<number, Record<string, string> | undefined>();
    for (let n = 0; n < count; n += 1) {
      const at = count < 60 ? this.#below(personCount) : from + n;
      const isGone = this.#below(4) === 0;
      rows.set(at, isGone ? undefined : { text: this.#text(), filler: extra });
    }
    this.#index += 1;
    this.#lastCommit = Promise.all(this.#copies.map((copy) => copy.apply(this.#index, rows)));
    this.#underWay.push(this.#lastCommit);
    if (this.#below(3) > 0) await this.#lastCommit;
  }

  #text(): string {
    const word = () =>
      this.#below(8) > 0 ? `w${this.#below(1 + this.#below(80))}` : `t${this.#below(1e6)}`;
    return Array.from({ length: 1 + this.#below(24) }, word).join(' ');
  }

  async #compact(): Promise<void> {
    const compaction = this.#one.engine.compactEntries(words.id);
    this.#underWay.push(compaction);
    if (this.#below(2) === 0) await compaction;
  }

  async #hold(): Promise<void> {
    await this.#lastCommit;
    if (this.#held.length >= 3) return this.#letGo();
    const snapshot = this.#one.engine.snapshot();
    this.#held.push({ snapshot, entries: entriesOf(snapshot, plain.id) });
  }

  /** What was held is as it was. */
  #letGo(): void {
    for (const { snapshot, entries } of this.#held.splice(0)) {
      assert.deepEqual(entriesOf(snapshot, words.id), entries);
      snapshot[Symbol.dispose]();
    }
  }

  async #look(what: string): Promise<void> {
    await Promise.all(this.#underWay.splice(0));
    this.#letGo();
    const one = this.#one;
    if (this.#below(2) === 0) await one.requireCopied(what);
    else await one.reopen();
  }

  async end(): Promise<void> {
    await Promise.all(this.#underWay);
    this.#letGo();
    const [first, second] = this.#copies.map(({ engine }) => requireEqual(engine, 'at the end'));
    assert.deepEqual(first, second);
    for (const copy of this.#copies) await copy.end();
  }
}

for (let seed = seedFirst; seed < seedFirst + seedCount; seed += 1)
  test(`entries in chunks are those without, while they are brought there at any time (SEED=${seed})`, async () => {
    const run = new Run(seed);
    for (let step = 0; step < stepCount; step += 1) await run.step(`step ${step}`);
    await run.end();
  });
