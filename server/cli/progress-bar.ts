import type { Terminal } from './terminal.ts';

const barWidth = 30;
const redrawMs = 100;

/** One line that shows how far something is; nothing where messages go to no terminal. */
export class ProgressBar {
  readonly #terminal: Terminal;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #width = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** @param fraction 0 to 1; undefined when nobody knows how much there is */
  show(fraction: number | undefined, text: string): void {
    const nowMs = this.#terminal.nowMs();
    if (this.#terminal.messages.isTTY !== true || nowMs - this.#drawnAtMs < redrawMs) return;
    this.#drawnAtMs = nowMs;
    const columns = this.#terminal.messages.columns || 80;
    const line = `${barText(fraction)} ${text}`.slice(0, columns - 1);
    this.#terminal.messages.write(`\r${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#width > 0) this.#terminal.messages.write(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

function barText(fraction: number | undefined): string {
  if (fraction === undefined) return '';
  const part = Math.min(1, Math.max(0, fraction));
  const filled = Math.round(part * barWidth);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${percent} %`;
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
