import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { maskSecrets } from '#core/text/masked-text.ts';

const linesMax = 1000;

/**
 * Lines that were typed, in `POLYAD_HISTORY` or `~/.polyad_history`, readable by their owner only. Statements that begin with a
 * blank and lines that hold a secret are not kept. A file that cannot be used does no harm.
 */
export class ShellHistory {
  readonly lengthMax = linesMax;
  readonly #path: string;
  readonly #lines: string[];
  #isUsable = true;
  #isHidden = false;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#path = environment['POLYAD_HISTORY'] ?? join(homedir(), '.polyad_history');
    this.#lines = this.#read();
  }

  newestFirst(): readonly string[] {
    return [...this.#lines].reverse();
  }

  /** @param isFirst the line begins a statement or command */
  add(line: string, isFirst: boolean): void {
    if (isFirst) this.#isHidden = line.startsWith(' ');
    const isSecret = maskSecrets(line) !== line;
    if (isSecret || this.#isHidden || this.#lines.at(-1) === line || !this.#isUsable) return;
    this.#lines.push(line);
    try {
      appendFileSync(this.#path, `${line}\n`, { mode: 0o600 });
    } catch {
      this.#isUsable = false;
    }
  }

  /** A file that has grown to twice its size is cut. */
  #read(): string[] {
    try {
      mkdirSync(dirname(this.#path), { recursive: true });
      const lines = readFileSync(this.#path, 'utf8').split('\n').filter(Boolean);
      const kept = lines.slice(-linesMax);
      if (lines.length > 2 * linesMax) writeFileSync(this.#path, `${kept.join('\n')}\n`);
      chmodSync(this.#path, 0o600);
      return kept;
    } catch {
      return [];
    }
  }
}
