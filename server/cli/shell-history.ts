import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { maskSecrets } from '#core/text/masked-text.ts';

const entriesMax = 1000;
/** Stands for the ends of lines in the file, which has a line for each entry. */
const lineEnd = '\r';

/**
 * Statements and commands that were typed, in `POLYAD_HISTORY` or `~/.polyad_history`, readable by their owner only: an entry for each,
 * however many lines it has. Those that begin with a blank or hold a secret are in no file. A file that cannot be used does no harm.
 */
export class ShellHistory {
  readonly lengthMax = entriesMax;
  readonly #path: string;
  readonly #entries: string[];
  #lastKept: string | undefined;
  #isUsable = true;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#path = environment['POLYAD_HISTORY'] ?? join(homedir(), '.polyad_history');
    this.#entries = this.#read();
    this.#lastKept = this.#entries.at(-1);
  }

  newestFirst(): readonly string[] {
    return this.#entries.toReversed();
  }

  /** @param entry its lines, with `\n` between them */
  add(entry: string): void {
    const known = this.#entries.indexOf(entry);
    if (known >= 0) this.#entries.splice(known, 1);
    this.#entries.push(entry);
    if (this.#entries.length > entriesMax) this.#entries.shift();
    const isSecret = entry.startsWith(' ') || maskSecrets(entry) !== entry;
    if (isSecret || this.#lastKept === entry || !this.#isUsable) return;
    this.#lastKept = entry;
    try {
      appendFileSync(this.#path, `${entry.replaceAll('\n', lineEnd)}\n`, { mode: 0o600 });
    } catch {
      this.#isUsable = false;
    }
  }

  /** A file that has grown to twice its size is cut. */
  #read(): string[] {
    try {
      mkdirSync(dirname(this.#path), { recursive: true });
      const lines = readFileSync(this.#path, 'utf8').split('\n').filter(Boolean);
      const kept = lines.slice(-entriesMax);
      if (lines.length > 2 * entriesMax) writeFileSync(this.#path, `${kept.join('\n')}\n`);
      chmodSync(this.#path, 0o600);
      return kept.map((line) => line.replaceAll(lineEnd, '\n'));
    } catch {
      return [];
    }
  }
}
