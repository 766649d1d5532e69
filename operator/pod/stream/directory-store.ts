import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { ArchiveStore } from './stored.ts';

const directoryMode = 0o770;

/** Archives in a directory of a volume. */
export class DirectoryStore implements ArchiveStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async write(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#pathOf(name);
    const unfinished = `${path}.unfinished`;
    await mkdir(dirname(path), { recursive: true, mode: directoryMode });
    const file = await open(unfinished, 'w', 0o640);
    try {
      for await (const piece of pieces) await file.writeFile(piece);
      await file.sync();
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
    await synced(dirname(path));
  }

  async read(name: string): Promise<AsyncIterable<Uint8Array>> {
    const stream = createReadStream(this.#pathOf(name), { highWaterMark: 1024 * 1024 });
    await new Promise<void>((resolve, reject) => {
      stream.once('open', () => resolve());
      stream.once('error', reject);
    });
    return stream as AsyncIterable<Uint8Array>;
  }

  async delete(name: string): Promise<void> {
    await rm(this.#pathOf(name), { force: true });
  }

  /** @throws Error for a name that leads out of the directory */
  #pathOf(name: string): string {
    const path = join(this.#root, ...name.split('/'));
    const inside = relative(this.#root, path);
    if (inside === '' || inside.split(sep)[0] === '..' || name.includes('\0'))
      throw new Error(`'${name}' is no name of an archive`);
    return path;
  }
}

/** The name of a file is on the disk when its directory is. */
async function synced(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
