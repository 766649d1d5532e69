import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** A range of seeds that ran on one tree. */
export interface LedgerLine {
  readonly at: string;
  /** Digest of the sources that the simulator runs, so that days are those of one tree. */
  readonly tree: string;
  readonly from: number;
  readonly seeds: number;
  readonly days: number;
  readonly failed: readonly number[];
}

export interface LedgerSum {
  readonly seeds: number;
  readonly days: number;
  readonly failed: number;
}

const begin = 'test/raft/runs/seed-run.ts';
const importPattern = /from '(#[a-z]+\/|\.{1,2}\/)([^']+)'/gu;

/** The tree of this checkout, by all that the simulator loads of it: consensus, log, databases, simulator, checkers. */
export function treeOf(root: string): string {
  const found = new Set([begin]);
  const hash = createHash('sha256');
  for (const path of found) {
    const text = readFileSync(join(root, path), 'utf8');
    hash.update(path).update(text);
    for (const [, base = '', rest = ''] of text.matchAll(importPattern))
      found.add(placeOf(path, base, rest));
  }
  return hash.digest('hex').slice(0, 12);
}

function placeOf(importer: string, base: string, rest: string): string {
  if (base.startsWith('.')) return normalize(join(dirname(importer), base, rest));
  return base === '#test/' ? `test/${rest}` : `server/${base.slice(1)}${rest}`;
}

/** Ranges of seeds in a file, one line each; a run enters its range piece by piece, so that a killed one is not lost. */
export class Ledger {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  lines(): readonly LedgerLine[] {
    if (!existsSync(this.#path)) return [];
    const whole = readFileSync(this.#path, 'utf8').split('\n').slice(0, -1);
    return whole.map((text) => JSON.parse(text) as LedgerLine);
  }

  enter(line: LedgerLine): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }

  /** The first seed behind all that ran, on any tree. */
  next(): number {
    return this.lines().reduce((next, { from, seeds }) => Math.max(next, from + seeds), 1);
  }

  /** Each seed counts once for a tree, however often it ran there: a repetition finds nothing new. */
  sum(tree?: string): LedgerSum {
    const all = this.lines().filter((line) => tree === undefined || line.tree === tree);
    const sorted = all.sort((a, b) =>
      a.tree === b.tree ? a.from - b.from : a.tree < b.tree ? -1 : 1,
    );
    let seeds = 0;
    let days = 0;
    let end = 0;
    let last: string | undefined;
    for (const line of sorted) {
      if (line.tree !== last) end = 0;
      last = line.tree;
      const fresh = Math.min(line.seeds, Math.max(0, line.from + line.seeds - end));
      seeds += fresh;
      days += line.seeds === 0 ? 0 : (line.days * fresh) / line.seeds;
      end = Math.max(end, line.from + line.seeds);
    }
    const failed = new Set(
      all.flatMap((line) => line.failed.map((seed) => `${line.tree}/${seed}`)),
    );
    return { seeds, days, failed: failed.size };
  }
}
