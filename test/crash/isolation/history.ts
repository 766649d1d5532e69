/** One operation of a transaction on a list: a value is put at its end, or the whole list is read. */
export type Operation =
  | { readonly kind: 'append'; readonly key: number; readonly value: number }
  | { readonly kind: 'read'; readonly key: number; readonly values: readonly number[] };

/**
 * A transaction as its client saw it. `statement`: one statement, which reads one snapshot. `open`: the answer of its commit
 * was lost.
 */
export interface SeenTransaction {
  readonly id: number;
  readonly level: 'READ_COMMITTED' | 'REPEATABLE_READ' | 'statement';
  readonly outcome: 'committed' | 'aborted' | 'open';
  readonly operations: readonly Operation[];
}

/**
 * Looks for anomalies in a history of list appends, as Adya defines them and Elle (Kingsbury, Alvaro, VLDB 2020) finds them: since
 * every value is appended once, a list that is read shows the order of its versions. Refused are lost and doubled appends,
 * aborted and intermediate reads, G0 and G1c for everybody, and G-single for those that read one snapshot. Write skew is not
 * (limits.md 15): under snapshot isolation dependencies followed by at most one anti-dependency make no cycle (Cerone, Gotsman).
 *
 * @param last what the lists hold at the end
 * @returns one sentence per anomaly
 */
export function anomaliesOf(
  history: readonly SeenTransaction[],
  last: ReadonlyMap<number, readonly number[]>,
): string[] {
  const found: string[] = [];
  const writerOf = new Map<number, SeenTransaction>();
  for (const transaction of history) {
    for (const operation of transaction.operations)
      if (operation.kind === 'append') writerOf.set(operation.value, transaction);
  }
  for (const [key, values] of last) {
    if (new Set(values).size !== values.length) found.push(`list ${key} holds a value twice`);
  }
  for (const transaction of history) {
    found.push(...valuesViolations(transaction, last, writerOf));
    found.push(...ownViolations(transaction));
  }
  if (found.length > 0) return found;
  const graph = dependencies(history, last, writerOf);
  const cycle = cycleIn(graph);
  if (cycle !== undefined) found.push(`cycle: ${cycle.join(' -> ')}`);
  return found;
}

/** Appends that are lost, that were aborted and are there, and reads of what no committed transaction left. */
function valuesViolations(
  transaction: SeenTransaction,
  last: ReadonlyMap<number, readonly number[]>,
  writerOf: ReadonlyMap<number, SeenTransaction>,
): string[] {
  const found: string[] = [];
  const name = `transaction ${transaction.id} (${transaction.level}, ${transaction.outcome})`;
  const own = transaction.operations.filter((operation) => operation.kind === 'append');
  const present = own.filter((append) => last.get(append.key)?.includes(append.value));
  if (transaction.outcome === 'committed' && present.length !== own.length)
    found.push(`${name} lost an append`);
  if (transaction.outcome === 'aborted' && present.length > 0) found.push(`${name} left an append`);
  if (transaction.outcome === 'open' && present.length > 0 && present.length < own.length)
    found.push(`${name} is there by half`);
  for (const operation of transaction.operations) {
    if (operation.kind !== 'read') continue;
    const final = last.get(operation.key) ?? [];
    const foreign = withoutOwn(operation.values, transaction, writerOf);
    for (const value of foreign) {
      if (writerOf.get(value)?.outcome === 'aborted')
        found.push(`${name} read ${value}, which was rolled back (G1a)`);
    }
    // A transaction that failed may have read what was right at its time all the same.
    if (foreign.some((value, at) => final[at] !== value))
      found.push(`${name} read [${foreign}] of list ${operation.key}, which became [${final}]`);
    const newest = foreign.at(-1);
    const writer = newest === undefined ? undefined : writerOf.get(newest);
    const after = final[foreign.length];
    if (writer !== undefined && after !== undefined && writerOf.get(after) === writer)
      found.push(`${name} read half of transaction ${writer.id} (G1b)`);
  }
  return found;
}

function withoutOwn(
  values: readonly number[],
  transaction: SeenTransaction,
  writerOf: ReadonlyMap<number, SeenTransaction>,
): readonly number[] {
  return values.filter((value) => writerOf.get(value) !== transaction);
}

/** A transaction sees what it wrote, at the end; one that reads one snapshot sees the same list again. */
function ownViolations(transaction: SeenTransaction): string[] {
  const found: string[] = [];
  const appended = new Map<number, number[]>();
  const before = new Map<number, string>();
  for (const operation of transaction.operations) {
    const own = appended.get(operation.key) ?? [];
    if (operation.kind === 'append') {
      appended.set(operation.key, [...own, operation.value]);
      continue;
    }
    const end = operation.values.slice(operation.values.length - own.length);
    if (String(end) !== String(own))
      found.push(`transaction ${transaction.id} read [${operation.values}] after writing [${own}]`);
    const foreign = String(operation.values.slice(0, operation.values.length - own.length));
    const known = before.get(operation.key);
    if (transaction.level !== 'READ_COMMITTED' && known !== undefined && known !== foreign)
      found.push(`transaction ${transaction.id} read [${known}] and then [${foreign}]`);
    before.set(operation.key, foreign);
  }
  return found;
}

interface Graph {
  /** Write-write and write-read. */
  readonly direct: Map<number, Set<number>>;
  /** Read-write, from readers of one snapshot. */
  readonly anti: Map<number, Set<number>>;
}

function dependencies(
  history: readonly SeenTransaction[],
  last: ReadonlyMap<number, readonly number[]>,
  writerOf: ReadonlyMap<number, SeenTransaction>,
): Graph {
  const graph: Graph = { direct: new Map(), anti: new Map() };
  for (const values of last.values()) {
    for (let at = 1; at < values.length; at += 1)
      connect(graph.direct, writerOf.get(values[at - 1] ?? -1), writerOf.get(values[at] ?? -1));
  }
  for (const transaction of history) {
    // What was not committed depends on others, and nobody on it.
    for (const operation of transaction.operations) {
      if (operation.kind !== 'read') continue;
      const foreign = withoutOwn(operation.values, transaction, writerOf);
      connect(graph.direct, writerOf.get(foreign.at(-1) ?? -1), transaction);
      if (transaction.level === 'READ_COMMITTED') continue;
      const next = (last.get(operation.key) ?? [])
        .slice(foreign.length)
        .find((value) => writerOf.get(value) !== transaction);
      // Behind an append of its own, others come later than itself anyway.
      connect(graph.anti, transaction, writerOf.get(next ?? -1));
    }
  }
  return graph;
}

function connect(
  edges: Map<number, Set<number>>,
  from: SeenTransaction | undefined,
  to: SeenTransaction | undefined,
): void {
  if (from === undefined || to === undefined || from === to) return;
  const known = edges.get(from.id);
  if (known === undefined) edges.set(from.id, new Set([to.id]));
  else known.add(to.id);
}

/** A cycle of direct dependencies, each of which may be followed by one anti-dependency. */
function cycleIn(graph: Graph): readonly number[] | undefined {
  const next = (id: number): number[] => {
    const steps = [...(graph.direct.get(id) ?? [])];
    return [...steps, ...steps.flatMap((step) => [...(graph.anti.get(step) ?? [])])];
  };
  const done = new Set<number>();
  for (const root of graph.direct.keys()) {
    if (done.has(root)) continue;
    const path: number[] = [root];
    const onPath = new Set(path);
    const pending: number[][] = [next(root)];
    while (path.length > 0) {
      const step = pending.at(-1)?.pop();
      if (step === undefined) {
        pending.pop();
        const left = path.pop();
        if (left !== undefined) {
          done.add(left);
          onPath.delete(left);
        }
      } else if (onPath.has(step)) return [...path.slice(path.indexOf(step)), step];
      else if (!done.has(step)) {
        path.push(step);
        onPath.add(step);
        pending.push(next(step));
      }
    }
  }
  return undefined;
}
