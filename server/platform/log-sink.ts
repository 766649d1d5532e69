import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectories } from './files.ts';

const fileBytesMax = 10 * 1024 * 1024;
const fileCountMax = 10;
/** Characters of lines that wait for the end of the turn. */
const waitingMax = 64 * 1024;

/**
 * Where log lines go: standard output, and `<directory>/polyad.log`, which is renamed to `polyad.1.log` and so on at
 * 10 MiB; ten are kept. The lines of a turn of the event loop leave in one write, those of level warn and above at once with what
 * stands before them, so that a process that dies has told why. A full disk must not stop the server: writing to the file ends
 * then, standard output goes on.
 */
export class LogSink {
  readonly #directory: string | undefined;
  readonly #print: (line: string) => void;
  #file: number | undefined;
  #bytes = 0;
  #waiting = '';

  /** @param directory undefined means standard output only; created when missing */
  constructor(directory: string | undefined, print: (line: string) => void) {
    this.#directory = directory;
    this.#print = print;
    this.#open();
  }

  /** @param line with its line break; written at the end of the turn, or by `flush` */
  write(line: string): void {
    if (this.#waiting === '') setImmediate(() => this.flush());
    this.#waiting += line;
    if (this.#waiting.length >= waitingMax) this.flush();
  }

  flush(): void {
    const lines = this.#waiting;
    if (lines === '') return;
    this.#waiting = '';
    this.#print(lines);
    if (this.#file === undefined) return;
    try {
      this.#bytes += writeSync(this.#file, lines);
    } catch {
      this.#closeFile();
      return;
    }
    if (this.#bytes > fileBytesMax) this.#rotate();
  }

  close(): void {
    this.flush();
    this.#closeFile();
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(): void {
    if (this.#directory === undefined) return;
    try {
      makeDirectories(this.#directory);
      this.#file = openSync(join(this.#directory, 'polyad.log'), 'a', 0o640);
      this.#bytes = fstatSync(this.#file).size;
    } catch (error) {
      this.#print(`log directory ${this.#directory} cannot be written: ${String(error)}\n`);
    }
  }

  #rotate(): void {
    const directory = this.#directory;
    if (directory === undefined) return;
    this.#closeFile();
    try {
      const nameOf = (n: number) => join(directory, n === 0 ? 'polyad.log' : `polyad.${n}.log`);
      for (let n = fileCountMax - 2; n >= 0; n--)
        if (existsSync(nameOf(n))) renameSync(nameOf(n), nameOf(n + 1));
    } finally {
      this.#open();
    }
  }
}
