import { readFileSync } from 'node:fs';

/** One operation of a client, one line of a history. Times are of one clock, in whatever unit. */
export interface Operation {
  readonly process: string;
  readonly op: string;
  readonly key?: string;
  readonly value: unknown;
  readonly call: number;
  /** Undefined: nobody knows whether it happened. */
  readonly return?: number;
  /** `failed`: it certainly did not happen. */
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly node?: string;
  readonly status?: number;
  readonly commitIndex?: number;
}

export function parseHistory(text: string): Operation[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Operation);
}

export function readHistory(path: string): Operation[] {
  return parseHistory(readFileSync(path, 'utf8'));
}

export function printHistory(operations: readonly Operation[]): string {
  return operations.map((operation) => `${JSON.stringify(operation)}\n`).join('');
}

/** By key, in the order of the history. */
export function byKey(operations: readonly Operation[]): ReadonlyMap<string, readonly Operation[]> {
  const keys = new Map<string, Operation[]>();
  for (const operation of operations) {
    const known = keys.get(operation.key ?? '');
    if (known === undefined) keys.set(operation.key ?? '', [operation]);
    else known.push(operation);
  }
  return keys;
}
