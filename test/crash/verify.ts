import type { HttpClient } from '../support/server-process.ts';
import { accountCount, databaseName, initialBalance, type Ledger } from './workload.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * What must hold after any kill: every acknowledged record is there and every acknowledged delete is done, both ends of every
 * edge list it, every index agrees with a full scan, and no commit is there by half.
 * Settles what was open, so that the next round starts from the truth.
 * @returns one sentence per violation
 */
export async function verify(client: HttpClient, ledger: Ledger): Promise<string[]> {
  const violations: string[] = [];
  const items = await client.sql(databaseName, 'SELECT @rid, key, grp, note FROM Item');
  checkItems(items, ledger, violations);
  await checkEdges(client, items, ledger, violations);
  await checkIndex(client, items, 'Item[key]', 'key', violations);
  await checkIndex(client, items, 'Item[grp]', 'grp', violations);
  await checkSearches(client, items, violations);
  await checkMarks(client, items, ledger, violations);
  await checkBalances(client, violations);
  await checkCounter(client, ledger, violations);
  const counted = await client.sql(databaseName, 'SELECT count(*) AS n FROM Item');
  if (counted[0]?.['n'] !== items.length) {
    violations.push(`count(*) says ${counted[0]?.['n']}, a scan finds ${items.length} items`);
  }
  return violations;
}

function checkItems(items: readonly Row[], ledger: Ledger, violations: string[]): void {
  const found = new Map(items.map((row) => [String(row['key']), String(row['note'])]));
  if (found.size !== items.length) violations.push('a unique key stands twice');
  for (const [key, note] of ledger.items) {
    if (found.get(key) === note) continue;
    if (found.has(key)) violations.push(`item ${key} has another note than acknowledged`);
    else if (!ledger.openDeletes.has(key)) violations.push(`acknowledged item ${key} is lost`);
  }
  for (const key of ledger.deleted)
    if (found.has(key)) violations.push(`deleted item ${key} is back`);
  for (const [key, note] of ledger.openItems) {
    if (found.has(key) && found.get(key) !== note)
      violations.push(`open item ${key} is there by half`);
  }
  for (const key of found.keys()) {
    if (!ledger.items.has(key) && !ledger.openItems.has(key))
      violations.push(`item ${key} was never sent`);
  }
  ledger.openItems.clear();
  for (const key of ledger.openDeletes) if (!found.has(key)) ledger.deleted.add(key);
  ledger.openDeletes.clear();
  ledger.items.clear();
  for (const [key, note] of found) ledger.items.set(key, note);
}

/** Scan, count, index and labels say the same of who is marked, and what was acknowledged holds. */
async function checkMarks(
  client: HttpClient,
  items: readonly Row[],
  ledger: Ledger,
  violations: string[],
): Promise<void> {
  const marked = await client.sql(databaseName, 'SELECT @rid, key FROM Marked');
  const keys = new Set(marked.map((row) => String(row['key'])));
  const rids = new Map(items.map((row) => [String(row['key']), String(row['@rid'])]));
  await checkIndex(client, marked, 'Marked[key]', 'key', violations);
  const [counted] = await client.sql(databaseName, 'SELECT count(*) AS n FROM Marked');
  if (counted?.['n'] !== marked.length)
    violations.push(`count(*) says ${String(counted?.['n'])} are marked, a scan ${marked.length}`);
  for (const { '@rid': rid, key } of marked)
    if (rids.get(String(key)) !== String(rid)) violations.push(`marked ${key} is no item`);
  for (const [key, isMarked] of ledger.marks) {
    if (!rids.has(key) || ledger.openMarks.has(key) || keys.has(key) === isMarked) continue;
    violations.push(`item ${key} is acknowledged to be ${isMarked ? 'marked' : 'unmarked'}`);
  }
  ledger.openMarks.clear();
  ledger.marks.clear();
  for (const key of rids.keys()) ledger.marks.set(key, keys.has(key));
}

/** What each kind of search finds, against the groups of a scan. */
async function checkSearches(
  client: HttpClient,
  items: readonly Row[],
  violations: string[],
): Promise<void> {
  const grp = Number(items[0]?.['grp'] ?? 0);
  const all = items.length;
  const ofGroup = items.filter((row) => row['grp'] === grp).length;
  const searches: readonly (readonly [string, number])[] = [
    ["SELECT FROM Item WHERE search_index('Item[text]', 'item')", all],
    [`SELECT FROM Item WHERE search_index('Item[text]', 'w${grp}')`, ofGroup],
    [`SELECT FROM (SELECT expand(vector.neighbors('Item[vector]', [${grp}, 1], ${all + 9})))`, all],
    [
      `SELECT FROM (SELECT expand(vector.neighbors('Item[vector]', [${grp}, 1], ${all + 9}, {maxDistance: 0})))`,
      ofGroup,
    ],
    [
      `SELECT FROM (SELECT expand(vector.sparseNeighbors('Item[dims,weights]', [${grp + 1}], [1.0], ${all + 9})))`,
      ofGroup,
    ],
    [`SELECT FROM Item WHERE geo.equals(place, 'POINT (${grp} ${grp})')`, ofGroup],
  ];
  for (const [text, wanted] of searches) {
    const [row] = await client.sql(databaseName, text.replace('SELECT', 'SELECT count(*) AS n'));
    if (row?.['n'] !== wanted)
      violations.push(`${text} finds ${String(row?.['n'])} items, a scan ${wanted}`);
  }
}

async function checkEdges(
  client: HttpClient,
  items: readonly Row[],
  ledger: Ledger,
  violations: string[],
): Promise<void> {
  const edges = await client.sql(databaseName, 'SELECT @rid, @out, @in, tag FROM Moves');
  const keyOf = new Map(items.map((row) => [String(row['@rid']), String(row['key'])]));
  const byTag = new Map(edges.map((row) => [String(row['tag']), row]));
  for (const [tag, [from, to]] of ledger.edges) {
    const edge = byTag.get(tag);
    const endsLive = ledger.items.has(from) && ledger.items.has(to);
    if (edge === undefined && endsLive) violations.push(`acknowledged edge ${tag} is lost`);
    if (edge !== undefined && !endsLive) violations.push(`edge ${tag} outlived its end`);
  }
  const outs = new Map<string, Set<string>>();
  const ins = new Map<string, Set<string>>();
  const lists = await client.sql(
    databaseName,
    "SELECT @rid, outE('Moves').@rid AS o, inE('Moves').@rid AS i FROM Item",
  );
  for (const row of lists) {
    outs.set(String(row['@rid']), asSet(row['o']));
    ins.set(String(row['@rid']), asSet(row['i']));
  }
  for (const edge of edges) {
    const rid = String(edge['@rid']);
    const from = String(edge['@out']);
    const to = String(edge['@in']);
    if (!keyOf.has(from) || !keyOf.has(to))
      violations.push(`edge ${rid} dangles: ${from} -> ${to}`);
    if (!outs.get(from)?.delete(rid))
      violations.push(`edge ${rid} is not in the out list of ${from}`);
    if (!ins.get(to)?.delete(rid)) violations.push(`edge ${rid} is not in the in list of ${to}`);
  }
  for (const [rid, rest] of [...outs, ...ins]) {
    if (rest.size > 0)
      violations.push(`${rid} lists edges that do not exist: ${[...rest].slice(0, 3)}`);
  }
  ledger.openEdges.clear();
  ledger.edges.clear();
  for (const [tag, row] of byTag) {
    ledger.edges.set(tag, [
      keyOf.get(String(row['@out'])) ?? '',
      keyOf.get(String(row['@in'])) ?? '',
    ]);
  }
}

function asSet(value: unknown): Set<string> {
  return new Set(Array.isArray(value) ? value.map(String) : value == null ? [] : [String(value)]);
}

/** Every entry of the index belongs to a scanned record with that key, and every record has its entry. */
async function checkIndex(
  client: HttpClient,
  items: readonly Row[],
  index: string,
  property: string,
  violations: string[],
): Promise<void> {
  const entries = await client.sql(databaseName, `SELECT FROM index:\`${index}\``);
  const expected = new Set(items.map((row) => `${row['@rid']}=${row[property]}`));
  for (const entry of entries) {
    const key = Array.isArray(entry['key']) ? entry['key'][0] : entry['key'];
    if (!expected.delete(`${entry['rid']}=${key}`))
      violations.push(`${index} has a wrong entry ${entry['rid']}=${key}`);
  }
  for (const missing of [...expected].slice(0, 5)) violations.push(`${index} lacks ${missing}`);
}

async function checkBalances(client: HttpClient, violations: string[]): Promise<void> {
  const rows = await client.sql(
    databaseName,
    'SELECT sum(balance) AS total, count(*) AS n FROM Account',
  );
  const total = rows[0]?.['total'];
  if (total !== accountCount * initialBalance || rows[0]?.['n'] !== accountCount) {
    violations.push(
      `balances add up to ${total} over ${rows[0]?.['n']} accounts: a transfer is there by half`,
    );
  }
}

async function checkCounter(
  client: HttpClient,
  ledger: Ledger,
  violations: string[],
): Promise<void> {
  const n = Number((await client.sql(databaseName, 'SELECT n FROM Counter'))[0]?.['n']);
  const most = ledger.increments + ledger.incrementsOpen;
  if (n < ledger.increments || n > most) {
    violations.push(
      `the counter is ${n}, acknowledged were ${ledger.increments}, sent at most ${most}`,
    );
  }
  ledger.increments = n;
  ledger.incrementsOpen = 0;
}
