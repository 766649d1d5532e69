import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

// Making, using again and removing segment files. Whatever is renamed or made is durable when the promise resolves.

/** Zeros are written in pieces of this size, so that the disk serves others in between. */
const sliceBytes = 1024 * 1024;

/** A file of zeros that are really on the disk: writing into it changes no metadata and cannot run out of space. */
export async function makeSpare(path: string, bytes: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'w', 0o600);
  try {
    const zeros = new Uint8Array(Math.min(sliceBytes, bytes));
    for (let left = bytes; left > 0; left -= zeros.length) {
      await file.writeFile(left < zeros.length ? zeros.subarray(0, left) : zeros);
      await file.sync();
    }
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
  await file.close();
}

/** Gives a spare its name as a segment and opens it: each write is on the disk when it returns. */
export async function useSpare(spare: string, path: string): Promise<FileHandle> {
  await rename(spare, path);
  await syncDirectory(dirname(path));
  // Its own directory is new with the first segment.
  await syncDirectory(join(dirname(path), '..'));
  return open(path, constants.O_WRONLY | constants.O_DSYNC);
}

/** Zeros over a part of a segment, on the disk when the promise resolves. */
export async function eraseFrom(path: string, start: number, length: number): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_DSYNC);
  try {
    const zeros = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const { bytesWritten } = await file.write(zeros, done, length - done, start + done);
      done += bytesWritten;
    }
  } finally {
    await file.close();
  }
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
