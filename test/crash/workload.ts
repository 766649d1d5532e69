import { mulberry32 } from '../bench/spine/data.ts';
import { type HttpClient, RefusedRequest } from '../support/server-process.ts';

/**
 * Mixed writes by several clients at once: inserts under a unique key, edges, transfers between accounts in sessions,
 * updates by a single statement, labels that come and go, deletes. The ledger remembers what was acknowledged and what was under way when the
 * server died (its fate is open: all of it or nothing).
 */
export class Ledger {
  /** Key -> note, acknowledged. */
  readonly items = new Map<string, string>();
  readonly deleted = new Set<string>();
  /** Edge tag -> [from key, to key], acknowledged. */
  readonly edges = new Map<string, readonly [string, string]>();
  /** Acknowledged increments of the shared counter, and those whose answer never came. */
  increments = 0;
  incrementsOpen = 0;
  transfers = 0;
  /** Key -> whether the item is acknowledged to have the label `Marked`. */
  readonly marks = new Map<string, boolean>();
  readonly openMarks = new Set<string>();
  relabelled = 0;
  readonly openItems = new Map<string, string>();
  readonly openDeletes = new Set<string>();
  readonly openEdges = new Map<string, readonly [string, string]>();
}

export const accountCount = 20;
export const initialBalance = 1000;
export const databaseName = 'crash';

/** Types, indexes, accounts and the counter. */
export async function createSchema(client: HttpClient): Promise<void> {
  await client.server(`create database ${databaseName}`);
  const statements = [
    'CREATE VERTEX TYPE Item',
    'CREATE PROPERTY Item.key STRING (mandatory true, notnull true)',
    'CREATE INDEX ON Item (key) UNIQUE',
    'CREATE PROPERTY Item.grp INTEGER',
    'CREATE INDEX ON Item (grp) NOTUNIQUE',
    'CREATE PROPERTY Item.text STRING',
    'CREATE INDEX ON Item (text) FULL_TEXT',
    'CREATE PROPERTY Item.vector ARRAY_OF_FLOATS',
    'CREATE INDEX ON Item (vector) LSM_VECTOR METADATA {"dimensions": 2, "similarity": "EUCLIDEAN"}',
    'CREATE PROPERTY Item.dims ARRAY_OF_INTEGERS',
    'CREATE PROPERTY Item.weights ARRAY_OF_FLOATS',
    'CREATE INDEX ON Item (dims, weights) LSM_SPARSE_VECTOR',
    'CREATE PROPERTY Item.place STRING',
    'CREATE INDEX ON Item (place) GEOSPATIAL',
    'CREATE EDGE TYPE Moves',
    'CREATE VERTEX TYPE Marked',
    'CREATE PROPERTY Marked.key STRING',
    'CREATE INDEX ON Marked (key) UNIQUE',
    'CREATE DOCUMENT TYPE Account',
    'CREATE PROPERTY Account.number INTEGER',
    'CREATE INDEX ON Account (number) UNIQUE',
    'CREATE DOCUMENT TYPE Counter',
    'INSERT INTO Counter SET n = 0',
  ];
  for (const statement of statements) await client.sql(databaseName, statement);
  for (let number = 0; number < accountCount; number += 1) {
    await client.sql(databaseName, 'INSERT INTO Account SET number = :number, balance = :balance', {
      number,
      balance: initialBalance,
    });
  }
}

/** One client's loop; ends when the server stops answering. */
export async function runClient(client: HttpClient, ledger: Ledger, seed: number): Promise<void> {
  const random = mulberry32(seed);
  for (let step = 0; ; step += 1) {
    try {
      await oneStep(client, ledger, random, `${seed}-${step}`);
    } catch (error) {
      if (error instanceof RefusedRequest) {
        // Conflicts, and deletes that race with edges, may be refused; anything else is a finding.
        if ([503, 409, 404].includes(error.answer.status)) continue;
        throw error;
      }
      return;
    }
  }
}

async function oneStep(
  client: HttpClient,
  ledger: Ledger,
  random: () => number,
  tag: string,
): Promise<void> {
  const choice = random();
  if (choice < 0.4) await insertItem(client, ledger, random, `k${tag}`);
  else if (choice < 0.65) await insertEdge(client, ledger, random, `e${tag}`);
  else if (choice < 0.8) await transfer(client, ledger, random);
  else if (choice < 0.86) await increment(client, ledger);
  else if (choice < 0.94) await relabel(client, ledger, random);
  else await deleteItem(client, ledger, random);
}

async function insertItem(
  client: HttpClient,
  ledger: Ledger,
  random: () => number,
  key: string,
): Promise<void> {
  const note = 'n'.repeat(Math.floor(random() * 900));
  const grp = Math.floor(random() * 50);
  ledger.openItems.set(key, note);
  try {
    await client.sql(
      databaseName,
      'INSERT INTO Item SET key = :key, grp = :grp, note = :note, text = :text, vector = :vector, dims = :dims, weights = [1.0, 0.5], place = :place',
      {
        key,
        grp,
        note,
        text: `item w${grp}`,
        vector: [grp, 1],
        dims: [0, grp + 1],
        place: `POINT (${grp} ${grp})`,
      },
    );
    ledger.items.set(key, note);
    ledger.openItems.delete(key);
  } catch (error) {
    if (error instanceof RefusedRequest) ledger.openItems.delete(key);
    throw error;
  }
}

async function insertEdge(
  client: HttpClient,
  ledger: Ledger,
  random: () => number,
  tag: string,
): Promise<void> {
  const from = pick(ledger.items, random);
  const to = pick(ledger.items, random);
  if (from === undefined || to === undefined) return;
  ledger.openEdges.set(tag, [from, to]);
  try {
    const rows = await client.sql(
      databaseName,
      'CREATE EDGE Moves FROM (SELECT FROM Item WHERE key = :from) TO (SELECT FROM Item WHERE key = :to) SET tag = :tag',
      { from, to, tag },
    );
    // An end may have been deleted meanwhile: then there is no edge, and no error.
    if (rows.length === 1) ledger.edges.set(tag, [from, to]);
    ledger.openEdges.delete(tag);
  } catch (error) {
    if (error instanceof RefusedRequest) ledger.openEdges.delete(tag);
    throw error;
  }
}

/** Two updates in one session: the sum of all balances never changes. */
async function transfer(client: HttpClient, ledger: Ledger, random: () => number): Promise<void> {
  const from = Math.floor(random() * accountCount);
  const to = (from + 1 + Math.floor(random() * (accountCount - 1))) % accountCount;
  const amount = 1 + Math.floor(random() * 20);
  const begun = await client.request('POST', `/begin/${databaseName}`, {
    isolationLevel: 'REPEATABLE_READ',
  });
  const session = begun.headers.get('service-session-id') ?? '';
  const headers = { 'service-session-id': session };
  const sql = 'UPDATE Account SET balance += :amount WHERE number = :number';
  await client.sql(databaseName, sql, { amount: -amount, number: from }, headers);
  await client.sql(databaseName, sql, { amount, number: to }, headers);
  const answer = await client.request('POST', `/commit/${databaseName}`, undefined, headers);
  if (answer.status === 204) ledger.transfers += 1;
  else if (answer.status !== 503) throw new RefusedRequest(answer, 'commit');
}

async function increment(client: HttpClient, ledger: Ledger): Promise<void> {
  ledger.incrementsOpen += 1;
  try {
    await client.sql(databaseName, 'UPDATE Counter SET n = n + 1');
    ledger.increments += 1;
    ledger.incrementsOpen -= 1;
  } catch (error) {
    if (error instanceof RefusedRequest) ledger.incrementsOpen -= 1;
    throw error;
  }
}

/** The item gets or loses a label: another type, with an index of its own, under the same id. */
async function relabel(client: HttpClient, ledger: Ledger, random: () => number): Promise<void> {
  const key = pick(ledger.items, random);
  if (key === undefined || ledger.openMarks.has(key)) return;
  const isMarked = random() < 0.6;
  const change = isMarked ? 'SET n:Marked' : 'REMOVE n:Marked';
  ledger.openMarks.add(key);
  try {
    const command = `MATCH (n:Item {key: $key}) ${change} RETURN count(n) AS n`;
    const answer = await client.request('POST', `/command/${databaseName}`, {
      language: 'cypher',
      command,
      params: { key },
    });
    if (answer.status !== 200) throw new RefusedRequest(answer, command);
    ledger.marks.set(key, isMarked);
    ledger.relabelled += 1;
    ledger.openMarks.delete(key);
  } catch (error) {
    if (error instanceof RefusedRequest) ledger.openMarks.delete(key);
    throw error;
  }
}

async function deleteItem(client: HttpClient, ledger: Ledger, random: () => number): Promise<void> {
  const key = pick(ledger.items, random);
  if (key === undefined) return;
  ledger.openDeletes.add(key);
  try {
    await client.sql(databaseName, 'DELETE FROM Item WHERE key = :key', { key });
    ledger.items.delete(key);
    ledger.deleted.add(key);
    ledger.openDeletes.delete(key);
  } catch (error) {
    if (error instanceof RefusedRequest) ledger.openDeletes.delete(key);
    throw error;
  }
}

function pick(items: ReadonlyMap<string, string>, random: () => number): string | undefined {
  if (items.size === 0) return undefined;
  let skip = Math.floor(random() * Math.min(items.size, 200));
  for (const key of items.keys()) {
    if (skip === 0) return key;
    skip -= 1;
  }
  return undefined;
}
