import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** An open file of a `LogDisk`. */
export type LogFile = number;

/** The blocking calls of the log. Tests put a disk below it that loses what was not flushed, is full, or fails. */
export interface LogDisk {
  makeDirectory(path: string): void;
  names(directory: string): readonly string[];
  readWhole(path: string): Buffer;
  /** @param mode `new`: it must not exist */
  open(path: string, mode: 'new' | 'read' | 'write'): LogFile;
  /** @returns bytes written, maybe fewer */
  write(file: LogFile, bytes: Uint8Array, from: number, at: number): number;
  /** @returns bytes read, maybe fewer */
  read(file: LogFile, bytes: Uint8Array, at: number): number;
  /** Data and size of the file are on the disk when it returns; a failure is final. */
  flush(file: LogFile): void;
  close(file: LogFile): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
  /** Names in the directory are on the disk when it returns. */
  flushDirectory(path: string): void;
}

export const systemLogDisk: LogDisk = {
  makeDirectory: (path) => {
    mkdirSync(path, { recursive: true });
  },
  names: (directory) => readdirSync(directory),
  readWhole: (path) => readFileSync(path),
  open: (path, mode) => openSync(path, { new: 'wx+', read: 'r', write: 'r+' }[mode], 0o600),
  write: (file, bytes, from, at) => writeSync(file, bytes, from, bytes.length - from, at),
  read: (file, bytes, at) => readSync(file, bytes, 0, bytes.length, at),
  flush: fdatasyncSync,
  close: closeSync,
  rename: renameSync,
  remove: unlinkSync,
  flushDirectory: (path) => {
    const directory = openSync(path, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  },
};

/** Short writes are normal. */
export function writeAll(disk: LogDisk, file: LogFile, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += disk.write(file, bytes, done, at + done);
}

/** Replaces a file as a whole, durable when it returns. */
export function replaceFileNow(directory: string, name: string, text: string): void {
  const path = join(directory, name);
  const beside = `${path}.tmp`;
  writeFileSync(beside, text, { mode: 0o600, flush: true });
  renameSync(beside, path);
  systemLogDisk.flushDirectory(directory);
}

export function readTextIfThere(directory: string, name: string): string | undefined {
  const path = join(directory, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
