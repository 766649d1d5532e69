import type { LocalServer } from '#cluster/dev/local-server.ts';
import { checkBank, checkSet, checkUnique } from '../history/checkers.ts';
import type { Operation } from '../history/history.ts';
import { checkRegisters } from '../history/register.ts';
import { checkCompareAndSet } from '../history/sessions.ts';
import { connect, graph } from './graph-workloads.ts';
import { bookmark, lists, once, schema } from './session-workloads.ts';
import type { Workload } from './workload.ts';
import { anyServer, type Client, eventual, linearizable, type Row, send } from './client.ts';

const keyCount = 4;
const accountCount = 8;
const initialBalance = 100;
const accountsQuery = 'SELECT number, balance FROM Account ORDER BY number';
const accounts = Array.from({ length: accountCount }, (_, number) => number);

const register: Workload = {
  schema: [
    'CREATE DOCUMENT TYPE Register',
    'CREATE PROPERTY Register.key STRING',
    'CREATE INDEX ON Register (key) UNIQUE',
    ...Array.from({ length: keyCount }, (_, i) => `INSERT INTO Register SET key = 'k${i}'`),
  ],
  async step(client, value) {
    const server = anyServer(client);
    const key = `k${client.random(keyCount)}`;
    const { process, recorder } = client;
    if (client.random(2) === 0) {
      const text = 'UPDATE Register SET value = :value WHERE key = :key';
      const write = () => send(server, 'sql', text, { key, value });
      await recorder.record({ process, op: 'write', key, value }, server, write);
      return;
    }
    const text = 'SELECT value FROM Register WHERE key = :key';
    const read = () => send(server, 'sql', text, { key }, linearizable, 'query');
    await recorder.record({ process, op: 'read', key, value: null }, server, read, registerOf);
  },
  finals: ['SELECT key, value FROM Register ORDER BY key'],
  finalOf: (rows) => rows.map(({ key, value }) => [key, value ?? null]),
  check(history) {
    return checkRegisters(withFinalReads(history));
  },
};

/** What the last read found, as a read of each key. */
function withFinalReads(history: readonly Operation[]): readonly Operation[] {
  const last = history.findLast(({ op, outcome }) => op === 'final' && outcome === 'ok');
  const reads = ((last?.value ?? []) as readonly (readonly [string, unknown])[]).map(
    ([key, value]): Operation => ({
      process: 'final',
      op: 'read',
      key,
      value,
      call: last?.call ?? 0,
      return: last?.return ?? 0,
      outcome: 'ok',
    }),
  );
  return [...history.filter(({ op }) => op !== 'final'), ...reads];
}

/** What each client read last is what it hopes to find still. */
const swap: Workload = {
  ...register,
  async step(client, value) {
    const server = anyServer(client);
    const key = `k${client.random(keyCount)}`;
    const { process, recorder } = client;
    const query = 'SELECT value FROM Register WHERE key = :key';
    const read = () => send(server, 'sql', query, { key }, linearizable, 'query');
    const about = { process, op: 'read', key, value: null };
    const found = await recorder.record(about, server, read, registerOf);
    if (found.outcome !== 'ok') return;
    const from = registerOf(found.rows);
    const condition = from === null ? 'value IS NULL' : 'value = :from';
    const text = `UPDATE Register SET value = :value WHERE key = :key AND ${condition}`;
    const write = async () => {
      const answer = await send(anyServer(client), 'sql', text, { key, value, from });
      const isDone = answer.outcome !== 'ok' || answer.rows[0]?.['count'] === 1;
      return isDone ? answer : ({ ...answer, outcome: 'failed', says: 'another value' } as const);
    };
    await recorder.record({ process, op: 'cas', key, value: [from, value] }, server, write);
  },
  check: (history) => checkCompareAndSet(withFinalReads(history)),
};

function registerOf(rows: readonly Row[]): unknown {
  return rows[0]?.['value'] ?? null;
}

const set: Workload = {
  schema: ['CREATE DOCUMENT TYPE Element', 'CREATE PROPERTY Element.number LONG'],
  async step(client, value) {
    const server = anyServer(client);
    const add = () => send(server, 'sql', 'INSERT INTO Element SET number = :value', { value });
    await client.recorder.record({ process: client.process, op: 'add', value }, server, add);
  },
  finals: ['SELECT number FROM Element ORDER BY number'],
  finalOf: (rows) => rows.map(({ number }) => number),
  check: checkSet,
};

const unique: Workload = {
  schema: [
    'CREATE DOCUMENT TYPE Claim',
    'CREATE PROPERTY Claim.key STRING',
    'CREATE INDEX ON Claim (key) UNIQUE',
  ],
  async step(client, number) {
    const server = anyServer(client);
    // Each key is raced for by several clients.
    const key = `c${number >> 2}`;
    const text = 'INSERT INTO Claim SET key = :key';
    const insert = () => send(server, 'sql', text, { key });
    const about = { process: client.process, op: 'insert', key, value: number };
    await client.recorder.record(about, server, insert);
  },
  finals: ['SELECT key FROM Claim ORDER BY key'],
  finalOf: (rows) => rows.map(({ key }) => key),
  check: checkUnique,
};

const bank: Workload = {
  schema: [
    'CREATE DOCUMENT TYPE Account',
    'CREATE PROPERTY Account.number INTEGER',
    'CREATE INDEX ON Account (number) UNIQUE',
    ...accounts.map((number) => `INSERT INTO Account SET number = ${number}, balance = 100`),
  ],
  async step(client, value) {
    const server = anyServer(client);
    if (client.random(3) === 0) await readAccounts(client, server);
    else await transfer(client, server, value);
  },
  finals: [accountsQuery],
  finalOf: balancesOf,
  check: (history) => checkBank(history, accountCount * initialBalance),
};

function balancesOf(rows: readonly Row[]): unknown {
  return Object.fromEntries(rows.map(({ number, balance }) => [`a${number}`, balance]));
}

async function readAccounts({ process, recorder, random }: Client, server: LocalServer) {
  const level = random(2) === 0 ? linearizable : eventual;
  const read = () => send(server, 'sql', accountsQuery, {}, level, 'query');
  await recorder.record({ process, op: 'read', value: null }, server, read, balancesOf);
}

async function transfer(client: Client, server: LocalServer, value: number) {
  const from = client.random(accountCount);
  const to = (from + 1 + client.random(accountCount - 1)) % accountCount;
  const amount = 1 + client.random(20);
  // With READ COMMITTED an account may be poor by the time of the second statement (limits.md 14).
  const text = [
    'BEGIN ISOLATION REPEATABLE_READ',
    `LET poor = SELECT FROM Account WHERE number = ${from} AND balance < ${amount}`,
    'IF ($poor.size() > 0) { ROLLBACK; RETURN "poor"; }',
    `UPDATE Account SET balance = balance - ${amount} WHERE number = ${from}`,
    `UPDATE Account SET balance = balance + ${amount} WHERE number = ${to}`,
    'COMMIT',
  ].join(';\n');
  const about = { process: client.process, op: 'transfer', value };
  await client.recorder.record(about, server, () => send(server, 'sqlscript', text));
}

/** The ten of ha-testing.md 9.2, and deletes against connects. */
export const workloads: Readonly<Record<string, Workload>> = {
  register,
  swap,
  set,
  bank,
  lists,
  graph,
  unique,
  bookmark,
  once,
  schema,
  connect,
};
