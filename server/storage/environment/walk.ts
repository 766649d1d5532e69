import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import { viewOf } from '../format/bytes.ts';
import { environmentFileName } from './file.ts';
import {
  overflowHeader,
  type OverflowRun,
  pageHeaderSize,
  pageSize,
  readU64,
  TreePage,
} from './page.ts';

/*
 * Looks at the trees of an environment by plain reads, before LMDB maps them. LMDB believes what it finds: a wrong offset, a
 * page that two trees share or a free page that is in use ends the process or, later, overwrites what is good. Each branch and
 * leaf page is read once; of values outside of the tree the header only, they have checksums of their own.
 */

/** Pages between two turns of the event loop: about 2 ms when the disk is quick. */
const pagesPerTurn = 256;
/** Pages that are read at once when they are neighbours. */
const readPagesMax = 64;
const recordSize = 48;
const noPage = 0xffff_ffff;
/** Of LMDB's names for trees, as the pinned binding opens them. */
const integerKeyFlag = 0x08;

/** LMDB's MDB_db: what is known about a tree beside its pages. */
interface TreeRecord {
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** Undefined when the tree is empty. */
  readonly root: number | undefined;
}

interface Meta {
  readonly transaction: number;
  readonly lastPage: number;
  readonly free: TreeRecord;
  readonly main: TreeRecord;
}

/** What kind of entries a tree has. */
type TreeKind = 'free' | 'main' | 'named';

/** What a walk found: pages of trees that were read. */
export interface WalkResult {
  readonly treePages: number;
  /** Headers of values that were wrong, and are right now. */
  readonly putRight: number;
  readonly lastPage: number;
}

/**
 * Walks all trees of the environment in `directory`; nobody may have it open. Cost: reading its branch and leaf pages; memory:
 * a bit per page of the file, and 8 bytes per page of the widest level or some 50 per value outside of the widest tree.
 * @throws DatabaseError `CorruptedRecord` saying which page is damaged, and how
 */
export async function walkEnvironment(
  directory: string,
  timers: Pick<Timers, 'yield'>,
): Promise<WalkResult> {
  const file = openSync(join(directory, environmentFileName), 'r+');
  try {
    const result = await new EnvironmentWalk(file, directory, timers).run();
    if (result.putRight > 0) fsyncSync(file);
    return result;
  } finally {
    closeSync(file);
  }
}

class EnvironmentWalk {
  readonly #file: number;
  readonly #directory: string;
  readonly #timers: Pick<Timers, 'yield'>;
  readonly #buffer = Buffer.allocUnsafeSlow(readPagesMax * pageSize);
  readonly #page = new TreePage(this.#buffer);
  #meta: Meta = noMeta;
  /** A bit for each page that a tree uses. */
  #used = new Uint8Array(0);
  #treePages = 0;
  #sinceTurn = 0;
  readonly #named: { readonly name: string; readonly tree: TreeRecord }[] = [];
  /** Of the tree that is walked. */
  #runs: OverflowRun[] = [];
  /** Values outside whose headers are wrong. */
  readonly #wrong: OverflowRun[] = [];
  readonly #freeLists: (Uint8Array | (OverflowRun & { readonly bytes: number }))[] = [];

  constructor(file: number, directory: string, timers: Pick<Timers, 'yield'>) {
    this.#file = file;
    this.#directory = directory;
    this.#timers = timers;
  }

  async run(): Promise<WalkResult> {
    this.#meta = this.#readMeta();
    const { lastPage, free, main } = this.#meta;
    this.#used = new Uint8Array((lastPage >>> 3) + 1);
    this.#used[0] = 3;
    await this.#walkTree('the list of free pages', free, 'free');
    await this.#walkTree('the list of trees', main, 'main');
    for (const { name, tree } of this.#named) await this.#walkTree(`tree '${name}'`, tree, 'named');
    for (const list of this.#freeLists) {
      this.#checkFreeList(list);
      await this.#turn(1);
    }
    await this.#putRight();
    return { treePages: this.#treePages, putRight: this.#wrong.length, lastPage };
  }

  // --- the two first pages

  /** The newer one, which LMDB takes. */
  #readMeta(): Meta {
    this.#read(0, 2);
    const view = viewOf(this.#buffer);
    const first = readMeta(view, 0);
    const second = readMeta(view, pageSize);
    const at = first.transaction >= second.transaction ? 0 : pageSize;
    const meta = at === 0 ? first : second;
    const mapSize = readU64(view, at + pageHeaderSize + 16);
    const isFixed = readU64(view, at + pageHeaderSize + 8) !== 0;
    // Transactions write the two in turns; in a copy one of them was never written.
    const other = Math.min(first.transaction, second.transaction);
    const isInTurn =
      (other === 0 || other === meta.transaction - 1) &&
      (meta.transaction === 0 || meta.transaction % 2 === at / pageSize);
    const fits =
      meta.lastPage >= 1 &&
      (meta.lastPage + 1) * pageSize <= Math.min(mapSize, 2 ** 46) &&
      mapSize <= 2 ** 46;
    if (isFixed || !isInTurn || !fits) throw this.#fault(at / pageSize, 'its numbers cannot be');
    if (meta.free.flags !== integerKeyFlag || meta.main.flags !== 0)
      throw this.#fault(at / pageSize, `its flags are ${meta.free.flags} and ${meta.main.flags}`);
    return meta;
  }

  // --- trees

  /** Level by level, each in the order of the file. */
  async #walkTree(name: string, tree: TreeRecord, kind: TreeKind): Promise<void> {
    const found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0, depth: 0 };
    let level = tree.root === undefined ? [] : [tree.root];
    while (level.length > 0) {
      found.depth += 1;
      if (found.depth > tree.depth) throw this.#fault(level[0] ?? 0, `${name} is too deep`);
      const below: number[] = [];
      const isLast = found.depth === tree.depth;
      for (let at = 0; at < level.length; ) {
        const count = neighbours(level, at);
        for (let i = 0; i < count; i++) this.#take(level[at + i] as number, 1, name);
        const first = level[at] as number;
        this.#read(first, count);
        for (let i = 0; i < count; i++) {
          const page = this.#page;
          const fault = page.load(i * pageSize, first + i, this.#meta.transaction);
          if (fault !== undefined) throw this.#fault(first + i, `${fault} (${name})`);
          if (page.isLeaf !== isLast) throw this.#fault(first + i, `${name} has uneven branches`);
          if (isLast) {
            found.leafPages += 1;
            found.entries += page.count;
            found.overflowPages += this.#takeEntries(first + i, name, kind);
          } else {
            found.branchPages += 1;
            for (let child = 0; child < page.count; child++) below.push(page.child(child));
          }
        }
        at += count;
        await this.#turn(count);
      }
      level = below.sort(ascending);
    }
    this.#treePages += found.branchPages + found.leafPages;
    await this.#lookAtHeaders();
    for (const what of ['depth', 'branchPages', 'leafPages', 'overflowPages', 'entries'] as const) {
      if (found[what] === tree[what]) continue;
      throw this.#fault(
        tree.root ?? 0,
        `${name} should have ${what} ${tree[what]} and has ${found[what]}`,
      );
    }
  }

  /** @returns the pages of values that lie outside of the leaf */
  #takeEntries(page: number, name: string, kind: TreeKind): number {
    const leaf = this.#page;
    let pages = 0;
    for (let i = 0; i < leaf.count; i++) {
      const fault = leaf.faultOfEntry(i, kind === 'main');
      if (fault !== undefined) throw this.#fault(page, `${fault} (${name})`);
      let run: OverflowRun | undefined;
      if (leaf.isOutside(i)) {
        run = leaf.overflow(i, this.#meta.transaction);
        if (run === undefined) throw this.#fault(page, `entry ${i} contradicts itself (${name})`);
        this.#take(run.first, run.pages, name);
        this.#runs.push(run);
        pages += run.pages;
      }
      if (kind === 'free') this.#keepFreeList(page, i, run);
      else if (leaf.isSubDatabase(i)) this.#keepNamed(page, i);
    }
    return pages;
  }

  /**
   * The header of a value outside of its leaf repeats what the leaf says. LMDB frees pages by it, so a wrong one would take others
   * along; nobody needs to miss anything for it. What is wrong with the value itself its checksum tells.
   */
  async #lookAtHeaders(): Promise<void> {
    const runs = this.#runs.sort((a, b) => a.first - b.first);
    this.#runs = [];
    const header = Buffer.alloc(pageHeaderSize);
    const view = viewOf(header);
    for (const run of runs) {
      readSync(this.#file, header, 0, pageHeaderSize, run.first * pageSize);
      const said = readU64(view, 8);
      // In a copy that LMDB made, the two differ in this.
      const right = said <= this.#meta.transaction ? { ...run, transaction: said } : run;
      if (!header.equals(overflowHeader(right))) this.#wrong.push(right);
      await this.#turn(1);
    }
  }

  /** Only where all else is sound: a leaf that lies about a value may name the pages of others. */
  async #putRight(): Promise<void> {
    for (const run of this.#wrong) {
      writeSync(this.#file, overflowHeader(run), 0, pageHeaderSize, run.first * pageSize);
      await this.#turn(1);
    }
  }

  #keepNamed(page: number, i: number): void {
    const leaf = this.#page;
    const start = leaf.valueStart(i);
    if (leaf.valueSize(i) !== recordSize) throw this.#fault(page, `entry ${i} is no tree`);
    const tree = readTree(viewOf(this.#buffer), start);
    const name = this.#buffer.toString('latin1', leaf.keyStart(i), start);
    if (tree.flags !== 0) throw this.#fault(page, `the flags of tree '${name}' are ${tree.flags}`);
    this.#named.push({ name, tree });
  }

  #keepFreeList(page: number, i: number, run: OverflowRun | undefined): void {
    const leaf = this.#page;
    const bytes = leaf.valueSize(i);
    if (leaf.keySize(i) !== 8 || bytes < 8 || bytes % 8 !== 0)
      throw this.#fault(page, `entry ${i} is no list of free pages`);
    const start = leaf.valueStart(i);
    this.#freeLists.push(
      run === undefined
        ? new Uint8Array(this.#buffer.subarray(start, start + bytes))
        : { ...run, bytes },
    );
  }

  // --- free pages

  /**
   * A count, then numbers of pages; a negative number is the length of a run whose first page follows, zero is nothing.
   */
  #checkFreeList(list: Uint8Array | (OverflowRun & { readonly bytes: number })): void {
    const bytes = list instanceof Uint8Array ? Buffer.from(list) : this.#readRun(list);
    const view = viewOf(bytes);
    const count = readU64(view, 0);
    const place = list instanceof Uint8Array ? (this.#meta.free.root ?? 0) : list.first;
    if (count > bytes.length / 8 - 1) throw this.#fault(place, 'a list of free pages is too long');
    for (let i = 1; i <= count; i++) {
      const entry = Number(view.getBigInt64(i * 8, true));
      if (entry === 0) continue;
      // A length whose page is in the list after this one says nothing.
      if (entry < 0 && i === count) break;
      const pages = entry < 0 ? -entry : 1;
      const first = entry < 0 ? Number(view.getBigInt64(++i * 8, true)) : entry;
      if (!this.#isFree(first, pages))
        throw this.#fault(place, `page ${first} cannot be free for ${pages}`);
    }
  }

  #isFree(first: number, pages: number): boolean {
    if (!this.#exist(first, pages)) return false;
    for (let page = first; page < first + pages; page++)
      if (((this.#used[page >>> 3] as number) & (1 << (page & 7))) !== 0) return false;
    return true;
  }

  #readRun({ first, bytes }: OverflowRun & { readonly bytes: number }): Buffer {
    const whole = Buffer.allocUnsafeSlow(bytes);
    const read = readSync(this.#file, whole, 0, bytes, first * pageSize + pageHeaderSize);
    if (read !== bytes) throw this.#fault(first, 'it cannot be read');
    return whole;
  }

  // --- pages

  #exist(first: number, pages: number): boolean {
    return first >= 2 && pages >= 1 && first + pages - 1 <= this.#meta.lastPage;
  }

  /** Each page belongs to one place. */
  #take(first: number, pages: number, name: string): void {
    if (!this.#exist(first, pages)) throw this.#fault(first, `it does not exist (${name})`);
    for (let page = first; page < first + pages; page++) {
      const bit = 1 << (page & 7);
      const byte = this.#used[page >>> 3] as number;
      if ((byte & bit) !== 0) throw this.#fault(page, `it is used twice (${name})`);
      this.#used[page >>> 3] = byte | bit;
    }
  }

  #read(first: number, pages: number): void {
    const length = pages * pageSize;
    if (readSync(this.#file, this.#buffer, 0, length, first * pageSize) !== length)
      throw this.#fault(first, 'it cannot be read');
  }

  async #turn(pages: number): Promise<void> {
    this.#sinceTurn += pages;
    if (this.#sinceTurn < pagesPerTurn) return;
    this.#sinceTurn = 0;
    await this.#timers.yield();
  }

  #fault(page: number, reason: string): DatabaseError {
    return new DatabaseError(
      'CorruptedRecord',
      `the database in '${this.#directory}' is damaged: page ${page} of '${environmentFileName}': ${reason}`,
    );
  }
}

const noTree: TreeRecord = {
  flags: 0,
  depth: 0,
  branchPages: 0,
  leafPages: 0,
  overflowPages: 0,
  entries: 0,
  root: undefined,
};
const noMeta: Meta = { transaction: 0, lastPage: 0, free: noTree, main: noTree };

function readMeta(view: DataView, page: number): Meta {
  const at = page + pageHeaderSize;
  return {
    free: readTree(view, at + 24),
    main: readTree(view, at + 72),
    lastPage: readU64(view, at + 120),
    transaction: readU64(view, at + 128),
  };
}

function readTree(view: DataView, at: number): TreeRecord {
  const isEmpty =
    view.getUint32(at + 40, true) === noPage && view.getUint32(at + 44, true) === noPage;
  return {
    flags: view.getUint16(at + 4, true),
    depth: view.getUint16(at + 6, true),
    branchPages: readU64(view, at + 8),
    leafPages: readU64(view, at + 16),
    overflowPages: readU64(view, at + 24),
    entries: readU64(view, at + 32),
    root: isEmpty ? undefined : readU64(view, at + 40),
  };
}

/** Pages of the level from `at` on that lie one behind the other, as many as fit into the buffer. */
function neighbours(level: readonly number[], at: number): number {
  let count = 1;
  while (count < readPagesMax && level[at + count] === (level[at] as number) + count) count += 1;
  return count;
}

function ascending(a: number, b: number): number {
  return a - b;
}
