import cliProgress, { type Options, type Params, type SingleBar } from 'cli-progress';
import { printable, type Terminal } from './terminal.ts';

/** What a bar shows beside itself. */
interface Shown {
  readonly text: string;
  /** Somebody knows how much there is. */
  readonly isMeasured: boolean;
}

/** One line that shows how far something is; nothing where messages go to no terminal. */
export class ProgressBar {
  readonly #terminal: Terminal;
  #bar: SingleBar | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** @param fraction 0 to 1; undefined when nobody knows how much there is */
  show(fraction: number | undefined, text: string): void {
    if (this.#terminal.messages.isTTY !== true) return;
    const shown: Shown = { text: printable(text), isMeasured: fraction !== undefined };
    const value = Math.min(1, Math.max(0, fraction || 0));
    if (this.#bar === undefined) {
      this.#bar = this.#made();
      this.#bar.start(1, value, shown);
    } else this.#bar.update(value, shown);
  }

  /** Takes the line away. Without it the process would wait for the next time that the bar is drawn. */
  clear(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }

  #made(): SingleBar {
    return new cliProgress.SingleBar({
      stream: this.#terminal.messages,
      format: lineOf,
      barsize: 30,
      barCompleteChar: '#',
      barIncompleteChar: '-',
      clearOnComplete: true,
      // Its handler of signals would let the process live on.
      gracefulExit: false,
    });
  }
}

function lineOf(options: Options, { progress, maxWidth = 80 }: Params, shown: Shown): string {
  const percent = String(Math.floor(progress * 100)).padStart(3);
  const bar = shown.isMeasured
    ? `[${cliProgress.Format.BarFormat(progress, options)}] ${percent} % `
    : '';
  return `${bar}${shown.text}`.slice(0, maxWidth - 1);
}

/** 1234567 as `1,234,567`. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** Bytes with a unit. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
