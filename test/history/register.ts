import { byKey, type Operation } from './history.ts';

interface Zone {
  readonly value: unknown;
  /** Earliest return and latest call of who wrote or read the value. */
  readonly earliestReturn: number;
  readonly latestCall: number;
}

/**
 * Registers whose written values are unique, `op` `write` and `read`, null before the first write: linearizable exactly when the
 * zones of the values fit (Gibbons and Korach; ha-testing.md 8.1). @returns what is wrong
 */
export function checkRegisters(history: readonly Operation[]): string[] {
  const problems: string[] = [];
  for (const [key, operations] of byKey(history))
    problems.push(...checkRegister(operations).map((problem) => `${key}: ${problem}`));
  return problems;
}

function checkRegister(operations: readonly Operation[]): string[] {
  const problems: string[] = [];
  const reads = operations.filter(({ op, outcome }) => op === 'read' && outcome === 'ok');
  const writes = new Map<unknown, Operation>();
  for (const operation of operations) {
    if (operation.op !== 'write') continue;
    if (writes.has(operation.value)) problems.push(`${operation.value} is written twice`);
    writes.set(operation.value, operation);
  }
  const readsOf = new Map<unknown, Operation[]>([[null, []]]);
  for (const read of reads) {
    const write = writes.get(read.value);
    if (read.value !== null && (write === undefined || write.outcome === 'failed'))
      problems.push(`${read.process} read ${read.value}, which nobody wrote`);
    else if (write !== undefined && (read.return ?? 0) < write.call)
      problems.push(`${read.process} read ${read.value} before it was written`);
    const own = readsOf.get(read.value);
    if (own === undefined) readsOf.set(read.value, [read]);
    else own.push(read);
  }
  const zones: Zone[] = [];
  for (const value of new Set([...readsOf.keys(), ...writes.keys()])) {
    const own = readsOf.get(value) ?? [];
    const write = writes.get(value);
    // Who knows whether an unknown write that nobody has seen ever happened.
    if (own.length === 0 && write?.outcome !== 'ok' && value !== null) continue;
    const returns = own.map((read) => read.return ?? Number.POSITIVE_INFINITY);
    const calls = own.map(({ call }) => call);
    const written = value === null ? Number.NEGATIVE_INFINITY : writtenAt(write);
    zones.push({
      value,
      earliestReturn: returns.reduce((a, b) => Math.min(a, b), written),
      latestCall: calls.reduce(
        (a, b) => Math.max(a, b),
        value === null ? Number.NEGATIVE_INFINITY : (write?.call ?? 0),
      ),
    });
  }
  return [...problems, ...overlaps(zones)];
}

function writtenAt(write: Operation | undefined): number {
  return write?.outcome === 'ok'
    ? (write.return ?? Number.POSITIVE_INFINITY)
    : Number.POSITIVE_INFINITY;
}

/** Forward zones must not overlap, and no backward zone may lie within a forward one. */
function overlaps(zones: readonly Zone[]): string[] {
  const problems: string[] = [];
  const forward = zones
    .filter(({ earliestReturn, latestCall }) => earliestReturn < latestCall)
    .sort((a, b) => a.earliestReturn - b.earliestReturn);
  for (let i = 1; i < forward.length; i++) {
    const [before, after] = [forward[i - 1] as Zone, forward[i] as Zone];
    if (after.earliestReturn < before.latestCall)
      problems.push(`${before.value} and ${after.value} are each seen after the other`);
  }
  for (const { value, earliestReturn, latestCall } of zones) {
    if (earliestReturn < latestCall) continue;
    const around = lastBefore(forward, latestCall);
    if (around !== undefined && earliestReturn < around.latestCall)
      problems.push(`${value} came and went while ${around.value} was there`);
  }
  return problems;
}

/** The forward zone that begins last before a time. */
function lastBefore(forward: readonly Zone[], time: number): Zone | undefined {
  let low = 0;
  let high = forward.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((forward[middle] as Zone).earliestReturn < time) low = middle + 1;
    else high = middle;
  }
  return forward[low - 1];
}
