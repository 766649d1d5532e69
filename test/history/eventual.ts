import type { Operation } from './history.ts';

/** Numbers by key, of one state: what was written together stands together, and is equal. */
export type SeenState = Readonly<Record<string, readonly number[]>>;

/**
 * `write` of growing numbers by key, one writer each, and `state` with all of them as `node` shows them (ha-testing.md 4.2, C4). Of
 * each key all parts are of one write, and a node never shows an older state than it did to a read that had ended before.
 */
export function checkEventual(history: readonly Operation[]): string[] {
  const problems: string[] = [];
  const attempted = new Map<string, number>();
  for (const { op, key = '', value } of history)
    if (op === 'write') attempted.set(key, Math.max(attempted.get(key) ?? 0, value as number));
  for (const { process, node, value } of history.filter(isSeen)) {
    for (const [key, parts] of Object.entries(value as SeenState)) {
      if (new Set(parts).size > 1)
        problems.push(`${process} sees parts of two writes of ${key} at ${node}: ${parts}`);
      for (const part of parts)
        if (part > (attempted.get(key) ?? 0)) problems.push(`nobody wrote ${part} to ${key}`);
    }
  }
  return [...problems, ...goneBack(history)];
}

function goneBack(history: readonly Operation[]): string[] {
  const problems: string[] = [];
  const floors = new Map<string, number>();
  const knownAtCall = new Map<Operation, ReadonlyMap<string, number>>();
  const moments = history.filter(isSeen).flatMap((operation) => [
    { at: operation.call, operation, isEnd: false },
    { at: operation.return ?? operation.call, operation, isEnd: true },
  ]);
  for (const { operation, isEnd } of moments.sort((a, b) => a.at - b.at)) {
    const { process, node } = operation;
    const state = Object.entries(operation.value as SeenState);
    // Only a read that had ended before this one began says what it must see.
    if (!isEnd) knownAtCall.set(operation, new Map(floors));
    else
      for (const [key, [number = 0]] of state) {
        const name = `${node} ${key}`;
        const known = knownAtCall.get(operation)?.get(name) ?? 0;
        if (number < known)
          problems.push(`${process} sees ${number} of ${key}, ${known} before, at ${node}`);
        floors.set(name, Math.max(floors.get(name) ?? 0, number));
      }
  }
  return problems;
}

function isSeen({ op, outcome }: Operation): boolean {
  return op === 'state' && outcome === 'ok';
}
