import type { Operation } from './history.ts';

/*
 * Checkers of histories beside registers and lists (ha-testing.md 8.5). Each returns what is wrong. The last read of a history is an
 * operation `final`, whose value is what all servers agree on at the end.
 */

function ok(history: readonly Operation[], op: string): readonly Operation[] {
  return history.filter((operation) => operation.op === op && operation.outcome === 'ok');
}

function finalOf(history: readonly Operation[]): unknown {
  return history.findLast(({ op, outcome }) => op === 'final' && outcome === 'ok')?.value;
}

/** `read`: balances by account, one state. The sum never changes. */
export function checkBank(history: readonly Operation[], total: number): string[] {
  const problems: string[] = [];
  for (const { process, op, value } of history.filter(
    (one) => one.outcome === 'ok' && (one.op === 'read' || one.op === 'final'),
  )) {
    const balances = Object.entries(value as Readonly<Record<string, number>>);
    const sum = balances.reduce((all, [, balance]) => all + balance, 0);
    if (sum !== total) problems.push(`${process} ${op}: ${sum} in all, not ${total}`);
    for (const [account, balance] of balances)
      if (balance < 0) problems.push(`${process} ${op}: ${account} has ${balance}`);
  }
  return problems;
}

/** `add` of elements, `final` with all of them: every acknowledged one is there, none that was refused, none twice. */
export function checkSet(history: readonly Operation[]): string[] {
  const found = finalOf(history) as readonly unknown[];
  const there = new Set(found);
  const problems: string[] = [];
  if (there.size < found.length) problems.push('an element is there twice');
  const added = new Map(history.filter(({ op }) => op === 'add').map((one) => [one.value, one]));
  for (const { value, outcome } of added.values()) {
    if (outcome === 'ok' && !there.has(value)) problems.push(`${value} is lost`);
    if (outcome === 'failed' && there.has(value))
      problems.push(`${value} was refused and is there`);
  }
  for (const value of there) if (!added.has(value)) problems.push(`nobody added ${value}`);
  return problems;
}

/** `insert` of a key, `final` with the keys of all records: one winner for each, and a loser only where there is one. */
export function checkUnique(history: readonly Operation[]): string[] {
  const problems: string[] = [];
  const records = new Map<unknown, number>();
  for (const key of finalOf(history) as readonly unknown[])
    records.set(key, (records.get(key) ?? 0) + 1);
  const winners = new Map<unknown, number>();
  for (const { key } of ok(history, 'insert')) winners.set(key, (winners.get(key) ?? 0) + 1);
  for (const [key, count] of records)
    if (count > 1) problems.push(`${key} is there ${count} times`);
  for (const [key, count] of winners) {
    if (count > 1) problems.push(`${count} clients inserted ${key}`);
    if (!records.has(key)) problems.push(`${key} is lost`);
  }
  for (const key of records.keys()) {
    const mayBe = history.some(
      (one) => one.op === 'insert' && one.key === key && one.outcome !== 'failed',
    );
    if (!mayBe) problems.push(`${key} is there and all were refused`);
  }
  return problems;
}

/** `increment` with a request id as value, sent again on every error; `final` is the counter. */
export function checkExactlyOnce(history: readonly Operation[]): string[] {
  const ids = new Map<unknown, boolean>();
  for (const { op, value, outcome } of history) {
    if (op !== 'increment' || outcome === 'failed') continue;
    ids.set(value, ids.get(value) === true || outcome === 'ok');
  }
  const sure = [...ids.values()].filter((isAcknowledged) => isAcknowledged).length;
  const counter = finalOf(history) as number;
  return counter < sure || counter > ids.size
    ? [`the counter is ${counter}: ${sure} were acknowledged, ${ids.size} sent`]
    : [];
}

export interface GraphBank {
  readonly initial: number;
  /** By account. */
  readonly balances: Readonly<Record<string, number>>;
  readonly out: readonly Transfer[];
  readonly in: readonly Transfer[];
}

export interface Transfer {
  readonly id: unknown;
  readonly from: string;
  readonly to: string;
  readonly amount: number;
}

/** `transfer`s as edges between accounts; `read` and `final` are a `GraphBank`: balances are what the edges say, seen from both ends. */
export function checkGraphBank(history: readonly Operation[]): string[] {
  const problems: string[] = [];
  for (const { process, op, value, outcome } of history) {
    if ((op !== 'read' && op !== 'final') || outcome !== 'ok') continue;
    const { initial, balances, out, in: entering } = value as GraphBank;
    const sorted = (edges: readonly Transfer[]) =>
      edges.map((edge) => JSON.stringify([edge.id, edge.from, edge.to, edge.amount])).sort();
    if (sorted(out).join() !== sorted(entering).join())
      problems.push(`${process} ${op}: edges differ from end to end`);
    for (const [account, balance] of Object.entries(balances)) {
      let expected = initial;
      for (const { from, to, amount } of out) {
        if (from === account) expected -= amount;
        if (to === account) expected += amount;
      }
      if (balance !== expected)
        problems.push(`${process} ${op}: ${account} has ${balance}, its edges say ${expected}`);
    }
  }
  const last = finalOf(history) as GraphBank;
  const ids = new Set(last.out.map(({ id }) => id));
  for (const { value, outcome } of history.filter(({ op }) => op === 'transfer')) {
    if (outcome === 'ok' && !ids.has(value)) problems.push(`transfer ${value} is lost`);
    if (outcome === 'failed' && ids.has(value)) problems.push(`transfer ${value} was refused`);
  }
  return problems;
}

/** `final`: vertices and edges by their ends: no edge without its ends, none lost but with a vertex that was deleted. */
export function checkDeleteAgainstConnect(history: readonly Operation[]): string[] {
  const { vertices, edges } = finalOf(history) as {
    readonly vertices: readonly string[];
    readonly edges: readonly { readonly id: unknown; readonly from: string; readonly to: string }[];
  };
  const there = new Set(vertices);
  const problems: string[] = [];
  for (const { id, from, to } of edges)
    for (const end of [from, to])
      if (!there.has(end)) problems.push(`edge ${id} ends at ${end}, which is gone`);
  for (const { key } of ok(history, 'delete'))
    if (there.has(key ?? '')) problems.push(`${key} was deleted and is there`);
  const mayBeDeleted = new Set(
    history
      .filter(({ op, outcome }) => op === 'delete' && outcome !== 'failed')
      .map(({ key }) => key),
  );
  const known = new Set(edges.map(({ id }) => id));
  for (const { value } of ok(history, 'connect')) {
    const { id, from, to } = value as { id: unknown; from: string; to: string };
    if (!known.has(id) && !mayBeDeleted.has(from) && !mayBeDeleted.has(to))
      problems.push(`edge ${id} is lost`);
  }
  return problems;
}
