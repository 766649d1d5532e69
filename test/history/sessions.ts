import { byKey, type Operation } from './history.ts';
import { checkRegisters } from './register.ts';

/**
 * `read`s and `cas` with value `[from, to]`, each `to` once; the initial value is null. Linearizable when the ones that were done are
 * writes of a register, and each of them took the place of the value that it names: no value is replaced twice.
 */
export function checkCompareAndSet(history: readonly Operation[]): string[] {
  const problems: string[] = [];
  const asWrites = history.map((one): Operation => {
    if (one.op !== 'cas') return one;
    const [, value] = one.value as readonly [unknown, unknown];
    return { ...one, op: 'write', value };
  });
  problems.push(...checkRegisters(asWrites));
  const swaps = history.filter(({ op, outcome }) => op === 'cas' && outcome === 'ok');
  for (const [key, operations] of byKey(swaps)) {
    const successors = new Map<unknown, unknown>();
    for (const { value } of operations) {
      const [from, to] = value as readonly [unknown, unknown];
      if (successors.has(from))
        problems.push(`${key}: ${from} was replaced by ${successors.get(from)} and by ${to}`);
      successors.set(from, to);
    }
  }
  return problems;
}

/** `write` and `read` of growing numbers by key, one writer each: a client sees what it wrote and what it saw, wherever it reads. */
export function checkBookmarks(history: readonly Operation[]): string[] {
  const problems: string[] = [];
  const seen = new Map<string, number>();
  const attempted = new Map<string, number>();
  for (const { op, key, value } of history)
    if (op === 'write')
      attempted.set(key ?? '', Math.max(attempted.get(key ?? '') ?? 0, value as number));
  for (const { process, op, key, value, outcome, node } of history) {
    if (outcome !== 'ok' || (op !== 'read' && op !== 'write')) continue;
    const number = (value ?? 0) as number;
    const name = `${process} ${key}`;
    const last = seen.get(name) ?? 0;
    if (op === 'read' && number < last)
      problems.push(`${process} reads ${number} of ${key} at ${node}, and knew ${last}`);
    if (number > (attempted.get(key ?? '') ?? 0)) problems.push(`nobody wrote ${number} to ${key}`);
    seen.set(name, Math.max(last, number));
  }
  return problems;
}
