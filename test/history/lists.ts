import type { Operation } from './history.ts';

/** One step of a transaction: an append of a unique number to a list, or a read of the whole list. */
export type ListStep =
  | readonly ['append', string, number]
  | readonly ['read', string, readonly number[]];

export type Anomaly =
  | 'aborted read'
  | 'intermediate read'
  | 'duplicate'
  | 'incompatible order'
  | 'lost append'
  | 'stale read'
  | 'G0'
  | 'G1c'
  | 'G-single'
  | 'G2';

type Edge = 'ww' | 'wr' | 'rw';

/**
 * Snapshot isolation forbids these, a stale read to whom asks for `linearizable`; cycles with two or more read-write edges are write
 * skew, which it allows (limits.md 13 to 16).
 */
export const forbiddenBySnapshotIsolation: ReadonlySet<Anomaly> = new Set<Anomaly>([
  'aborted read',
  'intermediate read',
  'duplicate',
  'incompatible order',
  'lost append',
  'stale read',
  'G0',
  'G1c',
  'G-single',
]);

/**
 * Lists to which transactions append unique numbers (Elle's way, ha-testing.md 8.4): versions are prefixes, dependencies follow from
 * them, and each cycle is named by its edges. The value of an operation is its steps.
 */
export function checkLists(
  history: readonly Operation[],
): { readonly anomaly: Anomaly; readonly says: string }[] {
  const found: { anomaly: Anomaly; says: string }[] = [];
  const orders = ordersOf(history, found);
  const edges = dependencies(history, orders, found);
  const only = (kinds: readonly Edge[]) => (edge: Edge) => kinds.includes(edge);
  for (const [anomaly, isTaken] of [
    ['G0', only(['ww'])],
    ['G1c', only(['ww', 'wr'])],
  ] as const)
    if (hasCycle(edges, isTaken)) found.push({ anomaly, says: 'a cycle of dependencies' });
  if (found.some(({ anomaly }) => anomaly === 'G0' || anomaly === 'G1c')) return found;
  if (hasCycleWithOneReadWrite(edges))
    found.push({ anomaly: 'G-single', says: 'a cycle with one read that was overtaken' });
  else if (hasCycle(edges, () => true))
    found.push({ anomaly: 'G2', says: 'a cycle with several reads that were overtaken' });
  return found;
}

function stepsOf({ value }: Operation): readonly ListStep[] {
  return value as readonly ListStep[];
}

/** The longest list of each key; all others must be its prefixes. */
function ordersOf(
  history: readonly Operation[],
  found: { anomaly: Anomaly; says: string }[],
): ReadonlyMap<string, readonly number[]> {
  const orders = new Map<string, readonly number[]>();
  const reads = history
    .filter(({ outcome }) => outcome === 'ok')
    .flatMap((one) => stepsOf(one).filter(([kind]) => kind === 'read'));
  for (const [, key, list] of reads as readonly (readonly ['read', string, readonly number[]])[]) {
    if (new Set(list).size < list.length)
      found.push({ anomaly: 'duplicate', says: `${key}: ${list}` });
    if (list.length > (orders.get(key)?.length ?? -1)) orders.set(key, list);
  }
  for (const [, key, list] of reads as readonly (readonly ['read', string, readonly number[]])[])
    if (list.some((element, i) => orders.get(key)?.[i] !== element))
      found.push({ anomaly: 'incompatible order', says: `${key}: ${list} and ${orders.get(key)}` });
  return orders;
}

function dependencies(
  history: readonly Operation[],
  orders: ReadonlyMap<string, readonly number[]>,
  found: { anomaly: Anomaly; says: string }[],
): ReadonlyMap<number, Edge>[] {
  const edges = history.map(() => new Map<number, Edge>());
  const writers = new Map<string, number>();
  history.forEach((operation, i) => {
    for (const [kind, key, value] of stepsOf(operation))
      if (kind === 'append') writers.set(`${key} ${value}`, i);
  });
  const link = (from: number | undefined, to: number | undefined, edge: Edge) => {
    if (from === undefined || to === undefined || from === to) return;
    // The strongest kind of dependency between two is enough.
    if (edges[from]?.get(to) === undefined || edge === 'ww') edges[from]?.set(to, edge);
  };
  for (const [key, order] of orders)
    order.forEach((element, i) => {
      const writer = writers.get(`${key} ${element}`);
      if (writer === undefined || history[writer]?.outcome === 'failed')
        found.push({ anomaly: 'aborted read', says: `${key}: ${element}` });
      if (i > 0) link(writers.get(`${key} ${order[i - 1]}`), writer, 'ww');
    });
  history.forEach((operation, reader) => {
    if (operation.outcome !== 'ok') return;
    const own = new Set<string>();
    for (const [kind, key, value] of stepsOf(operation)) {
      if (kind === 'append') {
        own.add(`${key} ${value}`);
        continue;
      }
      const order = orders.get(key) ?? [];
      const last = value.findLast((element) => !own.has(`${key} ${element}`));
      const writer = writers.get(`${key} ${last}`);
      link(writer, reader, 'wr');
      const ofWriter = (history[writer ?? -1] && stepsOf(history[writer ?? -1] as Operation)) ?? [];
      const later = ofWriter.findLast(([what, where]) => what === 'append' && where === key);
      if (writer !== reader && later !== undefined && later[2] !== last)
        found.push({ anomaly: 'intermediate read', says: `${key}: ${value}` });
      link(reader, writers.get(`${key} ${order[value.length]}`), 'rw');
    }
  });
  unseen(history, found);
  return edges;
}

/** Appends that a later transaction does not see: lost when the last of them does not either, else that one read an old state. */
function unseen(history: readonly Operation[], found: { anomaly: Anomaly; says: string }[]): void {
  const readers = new Map<
    string,
    { readonly call: number; readonly list: ReadonlySet<number> }[]
  >();
  for (const operation of history.filter(({ outcome }) => outcome === 'ok'))
    for (const [kind, key, list] of stepsOf(operation)) {
      if (kind !== 'read') continue;
      const known = readers.get(key) ?? [];
      readers.set(key, known);
      known.push({ call: operation.call, list: new Set(list) });
    }
  for (const { outcome, value, ...operation } of history) {
    if (outcome !== 'ok') continue;
    for (const [kind, key, element] of value as readonly ListStep[]) {
      if (kind !== 'append') continue;
      const after = operation.return ?? Number.POSITIVE_INFINITY;
      const later = (readers.get(key) ?? []).filter(({ call }) => call > after);
      if (later.every(({ list }) => list.has(element))) continue;
      const last = later.reduce((one, other) => (other.call > one.call ? other : one));
      const anomaly = last.list.has(element) ? 'stale read' : 'lost append';
      found.push({ anomaly, says: `${key}: ${element}` });
    }
  }
}

function hasCycle(
  edges: readonly ReadonlyMap<number, Edge>[],
  isTaken: (edge: Edge) => boolean,
): boolean {
  const state = edges.map(() => 0);
  for (let start = 0; start < edges.length; start++) {
    const path: { at: number; next: Iterator<[number, Edge]> }[] = [];
    const enter = (at: number) => {
      state[at] = 1;
      path.push({ at, next: (edges[at] ?? new Map())[Symbol.iterator]() });
    };
    if (state[start] === 0) enter(start);
    while (path.length > 0) {
      const top = path.at(-1) as { at: number; next: Iterator<[number, Edge]> };
      const { done, value } = top.next.next();
      if (done === true) {
        state[top.at] = 2;
        path.pop();
      } else if (isTaken(value[1])) {
        if (state[value[0]] === 1) return true;
        if (state[value[0]] === 0) enter(value[0]);
      }
    }
  }
  return false;
}

/** From where a read-write edge leads, back to where it began, without another one. */
function hasCycleWithOneReadWrite(edges: readonly ReadonlyMap<number, Edge>[]): boolean {
  return edges.some((outgoing, from) =>
    [...outgoing].some(([to, edge]) => edge === 'rw' && reaches(edges, to, from)),
  );
}

function reaches(edges: readonly ReadonlyMap<number, Edge>[], from: number, to: number): boolean {
  const seen = new Set([from]);
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === to) return true;
    for (const [next, edge] of edges[at] ?? [])
      if (edge !== 'rw' && !seen.has(next)) {
        seen.add(next);
        open.push(next);
      }
  }
  return false;
}
