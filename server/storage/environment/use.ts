import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Cancel, Timers } from '#core/runtime.ts';
import { environmentFileName, requireEnvironmentFile } from './file.ts';
import { walkEnvironment, type WalkResult } from './walk.ts';

/*
 * Who used an environment last, and how that ended: a line in `last-use.json` beside the data file. From it the next start
 * knows whether the trees must be looked at (`environment-walk.ts`) before LMDB may see them.
 *
 * The line is written in place and not flushed: what is lost with the power costs a look at an intact file.
 */

const fileName = 'last-use.json';
const lineBytes = 160;
/** Who dies sooner after it opened an environment may have died of it. */
const settledMs = 60_000;

interface LastUse {
  /** 'opening' for the first minute, then 'open'. */
  readonly state: 'opening' | 'open' | 'closed';
  /** Uses before this one that did not end with 'closed', one after the other. */
  readonly deaths: number;
  /** Of the data file after its last change by the server. */
  readonly file: string;
}

/** What is told of a look at the trees. */
export interface SoundnessOptions {
  readonly timers: Pick<Timers, 'yield'>;
  /** Called when the trees were looked at and are sound. */
  readonly walked?: (why: string, result: WalkResult) => void;
}

/**
 * Looks at the trees of an environment that nobody has open, when there is a reason to: the data file is not as the server left
 * it, or the server died soon after it opened it, or twice in a row with it open. Otherwise costs two small reads.
 * @throws DatabaseError `CorruptedRecord` saying what is damaged
 */
export async function requireSoundEnvironment(
  directory: string,
  { timers, walked }: SoundnessOptions,
): Promise<void> {
  const why = reasonToLook(directory);
  if (why === undefined) return;
  requireEnvironmentFile(directory);
  const result = await walkEnvironment(directory, timers);
  const use = new EnvironmentUse(directory);
  use.close();
  walked?.(why, result);
}

function reasonToLook(directory: string): string | undefined {
  const file = stateOfFile(directory);
  if (file === nothing) return undefined;
  const last = readLastUse(directory);
  if (last === undefined) return 'nothing is known of its last use';
  if (last.file !== file) return 'its file is not as the server left it';
  if (last.state === 'opening') return 'the server ended soon after it was opened';
  return last.state === 'open' && last.deaths > 0
    ? 'the server ended twice in a row while it was open'
    : undefined;
}

/** The line about one use, from before LMDB opens the environment until after it is closed. */
export class EnvironmentUse {
  readonly #directory: string;
  /** Undefined when the disk gave none: the next start looks at the trees. */
  readonly #file: number | undefined;
  readonly #line = Buffer.alloc(lineBytes);
  #deaths: number;
  #state: LastUse['state'] = 'opening';
  #cancel: Cancel = () => {};
  #isClosed = false;

  constructor(directory: string) {
    this.#directory = directory;
    const last = readLastUse(directory);
    this.#deaths = last === undefined || last.state === 'closed' ? 0 : last.deaths + 1;
    this.#file = openFile(join(directory, fileName), last === undefined ? 'w' : 'r+');
    this.changed();
  }

  /** The environment is open. */
  opened(timers: Pick<Timers, 'after'>): void {
    this.changed();
    this.#cancel = timers.after(settledMs, () => {
      this.#state = 'open';
      this.changed();
    });
  }

  /** The data file was changed. A few microseconds. */
  changed(): void {
    if (this.#isClosed || this.#file === undefined) return;
    const use: LastUse = {
      state: this.#state,
      deaths: this.#deaths,
      file: stateOfFile(this.#directory),
    };
    this.#line.fill(' ').write(`${JSON.stringify(use)}`);
    this.#line[lineBytes - 1] = 0x0a;
    try {
      writeSync(this.#file, this.#line, 0, lineBytes, 0);
    } catch {
      // A full disk: the next start looks at the trees.
    }
  }

  /** The environment is closed. @param isSound nothing went wrong while it was open */
  close(isSound = true): void {
    if (this.#isClosed) return;
    this.#cancel();
    if (isSound) {
      this.#state = 'closed';
      this.#deaths = 0;
      this.changed();
    }
    this.#isClosed = true;
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

function openFile(path: string, flags: 'w' | 'r+'): number | undefined {
  try {
    return openSync(path, flags);
  } catch {
    return undefined;
  }
}

const nothing = '';

function stateOfFile(directory: string): string {
  const found = statSync(join(directory, environmentFileName), {
    bigint: true,
    throwIfNoEntry: false,
  });
  return found === undefined || found.size === 0n ? nothing : `${found.size}:${found.mtimeNs}`;
}

/** Undefined when there is none, or none that can be read. */
function readLastUse(directory: string): LastUse | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(join(directory, fileName), 'utf8'));
    const { state, deaths, file } = read as LastUse;
    const isWhole = ['opening', 'open', 'closed'].includes(state) && typeof file === 'string';
    return isWhole && Number.isSafeInteger(deaths) ? { state, deaths, file } : undefined;
  } catch {
    return undefined;
  }
}
