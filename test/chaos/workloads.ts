import type { LocalServer } from '#cluster/dev/local-server.ts';
import { checkBank, checkSet, checkUnique } from '../history/checkers.ts';
import type { Operation } from '../history/history.ts';
import { checkRegisters } from '../history/register.ts';
import { anyServer, type Client, eventual, linearizable, type Row, send } from './client.ts';

/** What the clients of a cell do, and what must hold of their history (ha-testing.md 8, 9.2). */
export interface Workload {
  readonly schema: readonly string[];
  /** One operation of one client. @param number of no other operation of the cell */
  step(client: Client, number: number): Promise<void>;
  /** All that there is at the end, as a read on one server gives it. */
  readonly final: string;
  finalOf(rows: readonly Row[]): unknown;
  check(history: readonly Operation[]): string[];
}

const keyCount = 4;
const accountCount = 8;
const initialBalance = 100;
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
  final: 'SELECT key, value FROM Register ORDER BY key',
  finalOf: (rows) => rows.map(({ key, value }) => [key, value ?? null]),
  check(history) {
    const last = history.findLast(({ op }) => op === 'final');
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
    return checkRegisters([...history.filter(({ op }) => op !== 'final'), ...reads]);
  },
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
  final: 'SELECT number FROM Element ORDER BY number',
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
  final: 'SELECT key FROM Claim ORDER BY key',
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
  final: 'SELECT number, balance FROM Account ORDER BY number',
  finalOf: balancesOf,
  check: (history) => checkBank(history, accountCount * initialBalance),
};

function balancesOf(rows: readonly Row[]): unknown {
  return Object.fromEntries(rows.map(({ number, balance }) => [`a${number}`, balance]));
}

async function readAccounts({ process, recorder, random }: Client, server: LocalServer) {
  const level = random(2) === 0 ? linearizable : eventual;
  const read = () => send(server, 'sql', bank.final, {}, level, 'query');
  await recorder.record({ process, op: 'read', value: null }, server, read, balancesOf);
}

async function transfer(client: Client, server: LocalServer, value: number) {
  const from = client.random(accountCount);
  const to = (from + 1 + client.random(accountCount - 1)) % accountCount;
  const amount = 1 + client.random(20);
  const text = [
    'BEGIN',
    `LET poor = SELECT FROM Account WHERE number = ${from} AND balance < ${amount}`,
    'IF ($poor.size() > 0) { ROLLBACK; RETURN "poor"; }',
    `UPDATE Account SET balance = balance - ${amount} WHERE number = ${from}`,
    `UPDATE Account SET balance = balance + ${amount} WHERE number = ${to}`,
    'COMMIT',
  ].join(';\n');
  const about = { process: client.process, op: 'transfer', value };
  await client.recorder.record(about, server, () => send(server, 'sqlscript', text));
}

export const workloads: Readonly<Record<string, Workload>> = { register, set, unique, bank };
