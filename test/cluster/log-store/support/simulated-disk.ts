import { basename } from 'node:path';
import type { LogDisk } from '#cluster/log-store/log-disk.ts';

/** What was done and not flushed: a write in pieces of a sector, or a change of the directory. */
type Pending =
  | { readonly kind: 'write'; readonly inode: Inode; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'name'; readonly name: string; readonly inode: Inode | undefined };

interface Inode {
  durable: Buffer;
  cached: Buffer;
}

const sectorBytes = 512;

/** The disk has no place for the rest. */
export class NoSpace extends Error {
  readonly code = 'ENOSPC';
}

export class FlushFailed extends Error {
  readonly code = 'EIO';
}

/** One directory in memory, which loses at a crash whatever subset of the unflushed changes the test names. */
export class SimulatedDisk implements LogDisk {
  #durableNames = new Map<string, Inode>();
  #names = new Map<string, Inode>();
  #pending: Pending[] = [];
  #files = new Map<number, Inode>();
  #nextFile = 1;
  /** Bytes that all files may have together. */
  capacity = Number.POSITIVE_INFINITY;
  /** The flush after so many fails and drops what it should have written, as a page cache does. */
  flushesUntilFailure = Number.POSITIVE_INFINITY;
  /** No write takes more at once. */
  writeBytesMax = Number.POSITIVE_INFINITY;
  /** Called before each flush. */
  beforeFlush: () => void = () => {};

  /** Files as they are after a loss of power. @param survives for each unflushed change, oldest first */
  crashed(survives: (i: number) => boolean): SimulatedDisk {
    const after = new SimulatedDisk();
    const copies = new Map<Inode, Inode>();
    const copyOf = (inode: Inode) => {
      const known = copies.get(inode);
      if (known !== undefined) return known;
      const copy = { durable: Buffer.from(inode.durable), cached: inode.durable };
      copies.set(inode, copy);
      return copy;
    };
    for (const [name, inode] of this.#durableNames) after.#durableNames.set(name, copyOf(inode));
    this.#pending.forEach((change, i) => {
      if (!survives(i)) return;
      if (change.kind === 'write') lay(copyOf(change.inode), 'durable', change.at, change.bytes);
      else if (change.inode === undefined) after.#durableNames.delete(change.name);
      else after.#durableNames.set(change.name, copyOf(change.inode));
    });
    for (const inode of copies.values()) inode.cached = Buffer.from(inode.durable);
    after.#names = new Map(after.#durableNames);
    return after;
  }

  get pendingCount(): number {
    return this.#pending.length;
  }

  get usedBytes(): number {
    let bytes = 0;
    for (const { cached } of this.#names.values()) bytes += cached.length;
    return bytes;
  }

  /** Flips one bit. */
  damage(name: string, at: number, bit = 0): void {
    const inode = this.#names.get(name) as Inode;
    inode.cached.writeUInt8(inode.cached.readUInt8(at) ^ (1 << bit), at);
    inode.durable = Buffer.from(inode.cached);
  }

  makeDirectory(): void {}

  names(): readonly string[] {
    return [...this.#names.keys()];
  }

  readWhole(path: string): Buffer {
    return Buffer.from(this.#inode(path).cached);
  }

  open(path: string, mode: 'new' | 'read' | 'write'): number {
    const name = basename(path);
    if (mode === 'new') {
      if (this.#names.has(name)) throw new Error(`${name} exists`);
      this.#name(name, { durable: Buffer.alloc(0), cached: Buffer.alloc(0) });
    }
    this.#files.set(this.#nextFile, this.#inode(path));
    return this.#nextFile++;
  }

  write(file: number, bytes: Uint8Array, from: number, at: number): number {
    const inode = this.#files.get(file) as Inode;
    const asked = Math.min(bytes.length - from, this.writeBytesMax);
    const growth = Math.max(0, at + asked - inode.cached.length);
    const room = Math.max(0, this.capacity - this.usedBytes);
    const length = growth > room ? asked - (growth - room) : asked;
    if (length <= 0) throw new NoSpace('ENOSPC: no space left on device, write');
    for (let done = 0; done < length; ) {
      const end = Math.min(length, done + sectorBytes - ((at + done) % sectorBytes));
      const piece = Buffer.from(bytes.subarray(from + done, from + end));
      lay(inode, 'cached', at + done, piece);
      this.#pending.push({ kind: 'write', inode, at: at + done, bytes: piece });
      done = end;
    }
    return length;
  }

  read(file: number, bytes: Uint8Array, at: number): number {
    return (this.#files.get(file) as Inode).cached.copy(bytes, 0, at);
  }

  flush(file: number): void {
    this.beforeFlush();
    const inode = this.#files.get(file) as Inode;
    const isOwn = (change: Pending) => change.kind === 'write' && change.inode === inode;
    const fails = this.flushesUntilFailure-- <= 0;
    for (const change of this.#pending.filter(isOwn))
      if (change.kind === 'write' && !fails) lay(inode, 'durable', change.at, change.bytes);
    this.#pending = this.#pending.filter((change) => !isOwn(change));
    if (fails) throw new FlushFailed('EIO: i/o error, fdatasync');
  }

  close(file: number): void {
    this.#files.delete(file);
  }

  rename(from: string, to: string): void {
    const inode = this.#inode(from);
    this.#name(basename(to), inode);
    this.#name(basename(from), undefined);
  }

  remove(path: string): void {
    this.#inode(path);
    this.#name(basename(path), undefined);
  }

  flushDirectory(): void {
    this.beforeFlush();
    for (const change of this.#pending)
      if (change.kind === 'name' && change.inode === undefined)
        this.#durableNames.delete(change.name);
      else if (change.kind === 'name' && change.inode !== undefined)
        this.#durableNames.set(change.name, change.inode);
    this.#pending = this.#pending.filter(({ kind }) => kind !== 'name');
  }

  #name(name: string, inode: Inode | undefined): void {
    if (inode === undefined) this.#names.delete(name);
    else this.#names.set(name, inode);
    this.#pending.push({ kind: 'name', name, inode });
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(basename(path));
    if (inode === undefined) throw new Error(`ENOENT: ${path}`);
    return inode;
  }
}

function lay(inode: Inode, side: 'durable' | 'cached', at: number, bytes: Buffer): void {
  const end = at + bytes.length;
  if (inode[side].length < end)
    inode[side] = Buffer.concat([inode[side], Buffer.alloc(end - inode[side].length)]);
  bytes.copy(inode[side], at);
}
