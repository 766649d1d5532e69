import { entryKind } from '#cluster/replication/entry-codec.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import {
  checkBank,
  checkDeleteAgainstConnect,
  checkSet,
  checkUnique,
} from '#test/history/checkers.ts';
import { checkEventual } from '#test/history/eventual.ts';
import type { Operation } from '#test/history/history.ts';
import { checkLists, forbiddenBySnapshotIsolation, type ListStep } from '#test/history/lists.ts';
import { checkRegisters } from '#test/history/register.ts';
import { checkBookmarks } from '#test/history/sessions.ts';
import { UnknownOutcome } from '#transaction/commit/unknown-outcome.ts';
import { AccountWork } from './accounts.ts';
import { type DatabaseHost, database, PowerCut } from './host.ts';
import { LoggedRequests } from './requests.ts';
import { ofKinds, SessionWork } from './session-work.ts';
import {
  accountCount,
  balance,
  connectText,
  keyCount,
  listScript,
  schema,
  transferScript,
} from './statements.ts';

/** Of the newest vertices, among which edges are made and that are deleted. */
const vertexChoices = 6;
const uuid = '0f9c1d2e-3a4b-4c5d-8e6f-708192a3b4c5';

const works = ['register', 'list', 'bank', 'set', 'unique', 'graph', 'account', 'session'] as const;
type Work = (typeof works)[number];

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Attempt {
  readonly op: string;
  readonly key?: string;
  readonly value: unknown;
  readonly isRead?: boolean;
  /** Where it is seen, if it may be seen anywhere. */
  readonly node?: string;
  /** @param replayKey stands in the log with what it writes */
  run(replayKey: string | undefined): Promise<Rows>;
  /** What the history tells of the answer; undefined: nothing was done. */
  told?(rows: Rows): unknown;
}

/** Clients with real statements, one at a time each, through any server; what they see is a history for each kind of work. */
export class DatabaseClients {
  readonly histories = new Map<Work, Operation[]>(works.map((work) => [work, []]));
  readonly requests = new LoggedRequests();
  readonly #sessions: SessionWork;
  readonly accounts: AccountWork;
  readonly counts = { ok: 0, failed: 0, unknown: 0 };
  readonly #busy = new Set<number>();
  readonly #random: (n: number) => number;
  readonly #count: number;
  #setUp = 0;
  /** Whoever has applied it has the schema and the first records. */
  #setUpIndex = 0;
  #isSettingUp = false;
  #values = 0;
  /** Keys of the newest vertices, if they were made. */
  #vertices: string[] = [];
  #time = 0;
  isStopped = false;
  /** What no client may see. */
  surprise: unknown;

  constructor(count: number, random: (n: number) => number) {
    this.#count = count;
    this.#random = random;
    this.#sessions = new SessionWork(count, random);
    this.accounts = new AccountWork(random, () => this.#tick());
  }

  get isIdle(): boolean {
    return this.#busy.size === 0 && !this.#isSettingUp;
  }

  get isSetUp(): boolean {
    return this.#setUp > schema.length;
  }

  tick(hosts: readonly DatabaseHost[]): void {
    const open = hosts.filter(
      ({ isOpen, server, replication }) =>
        isOpen && server.isUp && (replication?.loop.applied ?? 0) >= this.#setUpIndex,
    );
    const leader = open.find(({ replication }) => replication?.isReadyLeader === true);
    if (!this.isSetUp) {
      if (leader !== undefined && !this.#isSettingUp) void this.#prepare(leader);
      return;
    }
    for (let client = 0; client < this.#count && !this.isStopped; client++) {
      if (this.#busy.has(client) || this.#random(3) > 0) continue;
      // Mostly to who leads.
      const host = this.#random(8) > 0 ? leader : open[this.#random(Math.max(1, open.length))];
      if (host !== undefined) void this.#step(client, host, open);
    }
  }

  async #prepare(leader: DatabaseHost): Promise<void> {
    this.#isSettingUp = true;
    try {
      if (this.#setUp === 0) {
        const body = Buffer.from(JSON.stringify({ name: database, uuid, offset: 0 }));
        if (!leader.hasDatabase) await leader.propose(entryKind.databaseCreate, body);
      } else {
        const step = schema[this.#setUp - 1] ?? '';
        await (typeof step === 'string' ? leader.run(step) : leader.run(...step));
      }
      this.#setUp += 1;
      this.#setUpIndex = leader.replication?.loop.applied ?? 0;
    } catch (error) {
      if (!(error instanceof DatabaseError) && !(error instanceof PowerCut)) this.surprise = error;
    }
    this.#isSettingUp = false;
  }

  async #step(client: number, host: DatabaseHost, open: readonly DatabaseHost[]): Promise<void> {
    this.#busy.add(client);
    // Sessions see what all others do: they are asked more often.
    const work = works[this.#random(works.length + 2)] ?? 'session';
    const attempt = this.#attempt(work, { client, host, open });
    const { op, key, node, value, isRead = false } = attempt;
    const call = this.#tick();
    const where = { ...(key !== undefined && { key }), ...(node !== undefined && { node }) };
    const about = { process: `c${client}`, op, ...where, call };
    const history = this.histories.get(work);
    // Some of the commits stand without a key.
    const replayKey = isRead || this.#random(4) === 0 ? undefined : `r${this.#values}`;
    try {
      const rows = await attempt.run(replayKey);
      const seen = attempt.told === undefined ? value : attempt.told(rows);
      const outcome = seen === undefined ? 'failed' : 'ok';
      if (replayKey !== undefined) this.requests.told(replayKey, outcome, host.bookmark);
      history?.push({ ...about, value: seen ?? value, outcome, return: this.#tick() });
      this.counts[outcome] += 1;
    } catch (error) {
      const isUnknown = error instanceof UnknownOutcome || error instanceof PowerCut;
      if (!isUnknown && !(error instanceof DatabaseError)) this.surprise = error;
      if (error instanceof DatabaseError && error.code === 'Internal') this.surprise = error;
      const outcome = isUnknown && !isRead ? 'unknown' : 'failed';
      const end = outcome === 'unknown' ? {} : { return: this.#tick() };
      if (replayKey !== undefined) this.requests.told(replayKey, outcome);
      history?.push({ ...about, value, outcome, ...end });
      this.counts[outcome] += 1;
    }
    this.#busy.delete(client);
  }

  #tick(): number {
    this.#time += 1;
    return this.#time;
  }

  #attempt(
    work: Work,
    { client, host, open }: { client: number; host: DatabaseHost; open: readonly DatabaseHost[] },
  ): Attempt {
    this.#values += 1;
    const number = this.#values;
    const key = `k${this.#random(keyCount)}`;
    switch (work) {
      case 'register':
        return this.#register(host, key, number);
      case 'list':
        return this.#list(host, key, number);
      case 'bank':
        return this.#bank(host, number);
      case 'set':
        return this.#element(host, number);
      case 'unique': {
        // Each key is raced for by several clients.
        const claim = `c${number >> 4}`;
        const text = 'INSERT INTO Claim SET key = :key';
        return {
          op: 'insert',
          key: claim,
          value: number,
          run: (replayKey) => host.run(text, { key: claim }, { replayKey }),
        };
      }
      case 'account':
        return this.accounts.attempt(host, open);
      case 'session':
        return this.#sessions.attempt(client, number, { host, open });
      default:
        return this.#graph(host, number);
    }
  }

  #register(host: DatabaseHost, key: string, value: number): Attempt {
    if (this.#random(2) === 0) {
      const text = 'UPDATE Register SET value = :value WHERE key = :key';
      return {
        op: 'write',
        key,
        value,
        run: (replayKey) => host.run(text, { key, value }, { replayKey }),
      };
    }
    return {
      op: 'read',
      key,
      value: null,
      isRead: true,
      run: () => host.read('SELECT value FROM Register WHERE key = :key', { key }),
      told: (rows) => rows[0]?.['value'] ?? null,
    };
  }

  /** Reads one list and appends to another, in one transaction. */
  #list(host: DatabaseHost, key: string, value: number): Attempt {
    const other = `k${this.#random(keyCount)}`;
    const stepsOf = (rows: Rows): readonly ListStep[] => [
      ['read', other, (rows[0]?.['items'] ?? []) as readonly number[]],
      ['append', key, value],
    ];
    return {
      op: 'txn',
      value: [['append', key, value]] satisfies readonly ListStep[],
      run: (replayKey) =>
        host.run(listScript, { key, other, value }, { language: 'sqlscript', replayKey }),
      told: stepsOf,
    };
  }

  #bank(host: DatabaseHost, value: number): Attempt {
    if (this.#random(3) === 0)
      return {
        op: 'read',
        value: null,
        isRead: true,
        run: () => host.run('SELECT number, balance FROM Account'),
        told: balancesOf,
      };
    const [from, to] = [this.#random(accountCount), this.#random(accountCount)];
    const amount = 1 + this.#random(60);
    const run = (replayKey: string | undefined) =>
      host.run(transferScript, { from, to, amount }, { language: 'sqlscript', replayKey });
    return { op: 'transfer', value, run };
  }

  /** Names of properties that nobody has used: numbers that are learnt while it runs, and may be lost with it. */
  #element(host: DatabaseHost, number: number): Attempt {
    const name = `p${this.#random(40)}`;
    const text = `INSERT INTO Element SET number = :number, ${name} = :number`;
    return {
      op: 'add',
      value: number,
      run: (replayKey) => host.run(text, { number }, { replayKey }),
    };
  }

  #graph(host: DatabaseHost, number: number): Attempt {
    const [a = '', b = ''] = [0, 1].map(() => this.#vertices[this.#random(vertexChoices)]);
    const kind = this.#random(5);
    if (kind < 2 || a === '' || b === '') {
      const key = `n${number}`;
      this.#vertices = [key, ...this.#vertices].slice(0, vertexChoices);
      const run = (replayKey: string | undefined) =>
        host.run('CREATE VERTEX Node SET key = :key', { key }, { replayKey });
      return { op: 'create', key, value: number, run };
    }
    if (kind === 2) {
      const key = a;
      const run = (replayKey: string | undefined) =>
        host.run('DELETE VERTEX FROM Node WHERE key = :key', { key }, { replayKey });
      return { op: 'delete', key, value: number, run, told: ([row]) => counted(row, number) };
    }
    const edge = { id: number, from: a, to: b };
    const told = (rows: Rows) => (rows.length > 0 ? edge : undefined);
    const run = (replayKey: string | undefined) => host.run(connectText, edge, { replayKey });
    return { op: 'connect', value: edge, run, told };
  }

  /** @returns what the histories break, with what all servers agree on at the end */
  async problems(host: DatabaseHost): Promise<readonly string[]> {
    const rows = (text: string, parameters: Readonly<Record<string, Value>> = {}) =>
      host.run(text, parameters);
    const final = (work: Work, value: unknown): readonly Operation[] => [
      ...(this.histories.get(work) ?? []),
      {
        process: 'end',
        op: 'final',
        value,
        call: this.#tick(),
        return: this.#tick(),
        outcome: 'ok',
      },
    ];
    const registers = [...(this.histories.get('register') ?? [])];
    for (const { key, value } of await rows('SELECT key, value FROM Register'))
      registers.push({
        process: 'end',
        op: 'read',
        key: String(key),
        value: value ?? null,
        call: this.#tick(),
        return: this.#tick(),
        outcome: 'ok',
      });
    const steps: ListStep[] = (await rows('SELECT key, items FROM Series')).map(
      ({ key, items }) => ['read', String(key), items as unknown as readonly number[]],
    );
    const last = { process: 'end', op: 'txn', value: steps, call: this.#tick() };
    const lists = [
      ...(this.histories.get('list') ?? []),
      { ...last, return: this.#tick(), outcome: 'ok' } as const,
    ];
    const elements = (await rows('SELECT number FROM Element')).map(({ number }) => number);
    const claims = (await rows('SELECT key FROM Claim')).map(({ key }) => key);
    const graph = {
      vertices: (await rows('SELECT key FROM Node')).map(({ key }) => key),
      edges: (await rows('SELECT id, src, dst FROM Link')).map(({ id, src, dst }) => ({
        id,
        from: src,
        to: dst,
      })),
    };
    const sessions = [...(this.histories.get('session') ?? [])];
    for (const { key, value } of await rows('SELECT key, value FROM Session'))
      sessions.push({
        process: String(key).replace('+', ''),
        op: 'read',
        key: String(key).replace('+', ''),
        value,
        call: this.#tick(),
        return: this.#tick(),
        outcome: 'ok',
        node: 'the end',
      });
    const accountsNow = balancesOf(await rows('SELECT number, balance FROM Account'));
    return [
      ...checkRegisters(registers),
      ...checkLists(lists)
        .filter(({ anomaly }) => isForbidden(anomaly))
        .map(({ anomaly, says }) => `${anomaly}: ${says}`),
      ...checkBank(final('bank', accountsNow), accountCount * balance),
      ...checkSet(final('set', elements)),
      ...checkUnique(final('unique', claims)),
      ...checkDeleteAgainstConnect(final('graph', graph)),
      ...checkBookmarks(ofKinds(sessions, ['write', 'read'])),
      ...checkEventual(ofKinds(sessions, ['write', 'state'])),
      ...this.requests.problems(),
      ...this.accounts.problems,
    ];
  }
}

/** A transaction on a server that is behind sees an older state, and is refused when it writes over newer data. */
function isForbidden(anomaly: Parameters<typeof forbiddenBySnapshotIsolation.has>[0]): boolean {
  return anomaly !== 'stale read' && forbiddenBySnapshotIsolation.has(anomaly);
}

function balancesOf(rows: Rows): Readonly<Record<string, number>> | undefined {
  // The accounts are there from the beginning of the work on, and a server that is behind may not have them yet.
  if (rows.length < accountCount) return undefined;
  return Object.fromEntries(rows.map(({ number, balance: b }) => [String(number), b as number]));
}

function counted(row: Rows[number] | undefined, value: number): number | undefined {
  return Number(row?.['count'] ?? 0) > 0 ? value : undefined;
}
