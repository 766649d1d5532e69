import { setTimeout as sleep } from 'node:timers/promises';
import { checkExactlyOnce, checkSet } from '../history/checkers.ts';
import { checkLists, forbiddenBySnapshotIsolation, type ListStep } from '../history/lists.ts';
import { checkBookmarks } from '../history/sessions.ts';
import { anyServer, type Client, linearizable, readYourWrites, type Row, send } from './client.ts';
import type { Workload } from './workload.ts';

const listCount = 120;
/** Then the next lists are used: long ones are read over and over. */
const stepsOfList = 100;

/**
 * Transactions that read and append to two lists, from which their order follows (Elle's way). Those that append to none are answered
 * where they are asked, so all of them ask for the newest state: any other level may show an old one.
 */
export const lists: Workload = {
  schema: [
    'CREATE DOCUMENT TYPE List',
    'CREATE PROPERTY List.key STRING',
    'CREATE INDEX ON List (key) UNIQUE',
    ...Array.from(
      { length: listCount },
      (_, at) => `INSERT INTO List SET key = 'l${at}', items = []`,
    ),
  ],
  async step(client, number) {
    const server = anyServer(client);
    const { process, random, recorder } = client;
    const base = Math.floor(number / stepsOfList) * 2;
    const keys = [base, base + 1].map((at) => `l${at % listCount}`);
    const appends = keys.filter(() => random(2) === 0);
    const text = [
      'BEGIN ISOLATION REPEATABLE_READ',
      ...keys.map((key, at) => `LET r${at} = SELECT items FROM List WHERE key = '${key}'`),
      ...appends.map((key) => `UPDATE List SET items += ${number} WHERE key = '${key}'`),
      'COMMIT',
      'RETURN [$r0, $r1]',
    ].join(';\n');
    const written = appends.map((key): ListStep => ['append', key, number]);
    const about = { process, op: 'txn', value: written };
    const stepsOf = (rows: readonly Row[]) => [
      ...keys.map((key, at): ListStep => {
        const found = (rows[at]?.['value'] ?? []) as readonly { items: readonly number[] }[];
        return ['read', key, found[0]?.items ?? []];
      }),
      ...written,
    ];
    const transact = () => send(server, 'sqlscript', text, {}, linearizable);
    await recorder.record(about, server, transact, stepsOf);
  },
  finals: ['SELECT key, items FROM List ORDER BY key'],
  finalOf: (rows) =>
    rows.map(({ key, items }): ListStep => ['read', key as string, items as number[]]),
  check: (history) =>
    checkLists(history)
      .filter(({ anomaly }) => forbiddenBySnapshotIsolation.has(anomaly))
      .map(({ anomaly, says }) => `${anomaly}: ${says}`),
};

/** The newest state that each client has heard of, and what it writes next. */
interface Known {
  bookmark: number;
  number: number;
}
const knownOf = new WeakMap<object, Map<string, Known>>();

function known({ recorder, process }: Client): Known {
  const all = knownOf.get(recorder) ?? new Map<string, Known>();
  knownOf.set(recorder, all);
  const one = all.get(process) ?? { bookmark: 0, number: 0 };
  all.set(process, one);
  return one;
}

const writers = 16;

/** Each client goes from server to server with its bookmark, writes its own number and reads everybody's. */
export const bookmark: Workload = {
  schema: [
    'CREATE DOCUMENT TYPE Mark',
    'CREATE PROPERTY Mark.key STRING',
    'CREATE INDEX ON Mark (key) UNIQUE',
    ...Array.from(
      { length: writers },
      (_, at) => `INSERT INTO Mark SET key = 'c${at}', number = 0`,
    ),
  ],
  async step(client) {
    const server = anyServer(client);
    const { process, random, recorder } = client;
    const own = known(client);
    const isWrite = random(2) === 0;
    const key = isWrite || random(3) > 0 ? process : `c${random(writers)}`;
    if (isWrite) own.number += 1;
    const { number } = own;
    const headers = { ...readYourWrites, 'x-service-read-after': String(own.bookmark) };
    const text = isWrite
      ? 'UPDATE Mark SET number = :number WHERE key = :key AND number < :number'
      : 'SELECT number FROM Mark WHERE key = :key';
    const path = isWrite ? 'command' : 'query';
    const about = { process, op: isWrite ? 'write' : 'read', key, value: isWrite ? number : null };
    const ask = () => send(server, 'sql', text, { key, number }, headers, path);
    const resultOf = (rows: readonly Row[]) => (isWrite ? number : (rows[0]?.['number'] ?? null));
    const answer = await recorder.record(about, server, ask, resultOf);
    if (answer.outcome === 'ok') own.bookmark = Math.max(own.bookmark, answer.commitIndex);
  },
  finals: ['SELECT key, number FROM Mark ORDER BY key'],
  finalOf: (rows) => rows.map(({ key, number }) => [key, number]),
  check(history) {
    const last =
      history.findLast(({ op, outcome }) => op === 'final' && outcome === 'ok')?.value ?? [];
    const reads = (last as readonly (readonly [string, number])[]).map(([key, value]) => ({
      process: key,
      op: 'read',
      key,
      value,
      call: 0,
      outcome: 'ok' as const,
    }));
    return checkBookmarks([...history, ...reads]);
  },
};

const triesMax = 20;

/** Increments with an id, sent again on every error, as a client does that wants it once. */
export const once: Workload = {
  schema: ['CREATE DOCUMENT TYPE Counter', 'INSERT INTO Counter SET number = 0'],
  async step(client, number) {
    const value = `${client.process}-${number}`;
    const headers = { 'x-request-id': value };
    for (let turn = 0; turn < triesMax; turn += 1) {
      const server = anyServer(client);
      const text = 'UPDATE Counter SET number = number + 1';
      const increment = () => send(server, 'sql', text, {}, headers);
      const about = { process: client.process, op: 'increment', value };
      const { outcome } = await client.recorder.record(about, server, increment);
      if (outcome === 'ok') return;
      await sleep(100 + client.random(200));
    }
  },
  finals: ['SELECT number FROM Counter'],
  finalOf: (rows) => rows[0]?.['number'],
  check: checkExactlyOnce,
};

/** Types and an index that come and go among inserts: what was acknowledged is there, of either kind. */
export const schema: Workload = {
  schema: ['CREATE DOCUMENT TYPE Item', 'CREATE PROPERTY Item.number LONG'],
  async step(client, value) {
    const server = anyServer(client);
    const { process, random, recorder } = client;
    const choice = random(20);
    const name = 'Item[number]';
    const [op, text] =
      choice === 0
        ? ['add', `CREATE DOCUMENT TYPE T${value}`]
        : choice === 1
          ? ['index', 'CREATE INDEX IF NOT EXISTS ON Item (number) UNIQUE']
          : choice === 2
            ? ['index', `DROP INDEX \`${name}\` IF EXISTS`]
            : ['add', `INSERT INTO Item SET number = ${value}`];
    const write = () => send(server, 'sql', text);
    await recorder.record({ process, op, value }, server, write);
  },
  finals: [
    'SELECT number FROM Item WHERE number >= 0 ORDER BY number',
    "SELECT name FROM schema:types WHERE name LIKE 'T%' ORDER BY name",
  ],
  finalOf: (rows) =>
    rows.map(({ number, name }) => (name === undefined ? number : Number(String(name).slice(1)))),
  check: checkSet,
};
