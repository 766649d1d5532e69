import type { SettingsReader } from '#config/effective-settings.ts';
import {
  mcpMaxBytesPerMinute,
  mcpMaxCallsPerMinute,
  mcpMaxRowsPerMinute,
} from '#config/mcp-settings.ts';
import type { Clock } from '#core/runtime.ts';
import { ToolFailure } from './tool-failure.ts';

const windowMs = 60_000;
const principalsMax = 10_000;

interface Spent {
  windowStartMs: number;
  calls: number;
  rows: number;
  bytes: number;
}

/** What each principal has had of the tools in the minute that runs. Off by default. */
export class Budgets {
  readonly #settings: SettingsReader;
  readonly #clock: Clock;
  readonly #spent = new Map<string, Spent>();

  constructor(settings: SettingsReader, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** @throws ToolFailure that names the setting to raise */
  begin(principal: string): void {
    const callsMax = this.#settings.get(mcpMaxCallsPerMinute);
    const bytesMax = this.#settings.get(mcpMaxBytesPerMinute);
    const rowsMax = this.#settings.get(mcpMaxRowsPerMinute);
    if (callsMax === 0 && rowsMax === 0 && bytesMax === 0) return;
    const spent = this.#of(principal);
    if (callsMax > 0 && spent.calls >= callsMax)
      throw new ToolFailure(
        `more than ${callsMax} tool calls a minute: ${mcpMaxCallsPerMinute.key}`,
      );
    if (rowsMax > 0 && spent.rows >= rowsMax)
      throw new ToolFailure(`more than ${rowsMax} records a minute: ${mcpMaxRowsPerMinute.key}`);
    if (bytesMax > 0 && spent.bytes >= bytesMax)
      throw new ToolFailure(
        `more than ${bytesMax} bytes of results a minute: ${mcpMaxBytesPerMinute.key}`,
      );
    spent.calls += 1;
  }

  gave(principal: string, given: { readonly rows: number; readonly bytes: number }): void {
    const spent = this.#spent.get(principal);
    if (spent === undefined) return;
    spent.rows += given.rows;
    spent.bytes += given.bytes;
  }

  #of(principal: string): Spent {
    const now = this.#clock.monotonicMs();
    const known = this.#spent.get(principal);
    if (known !== undefined && now - known.windowStartMs < windowMs) return known;
    if (this.#spent.size >= principalsMax) this.#spent.clear();
    const spent = { windowStartMs: now, calls: 0, rows: 0, bytes: 0 };
    this.#spent.set(principal, spent);
    return spent;
  }
}
