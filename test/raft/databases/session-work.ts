import type { Operation } from '#test/history/history.ts';
import type { SeenState } from '#test/history/eventual.ts';
import type { PlainRow } from '#test/database/support/plain-values.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { DatabaseHost } from './host.ts';

/** What a session of a client does, to be told of in a history. */
export interface SessionAttempt {
  readonly op: 'write' | 'read' | 'state';
  readonly key?: string;
  readonly value: unknown;
  readonly isRead?: boolean;
  readonly node: string;
  run(replayKey: string | undefined): Promise<readonly PlainRow[]>;
  told?(rows: readonly PlainRow[]): unknown;
}

export const sessionSchema = [
  'CREATE DOCUMENT TYPE Session IF NOT EXISTS',
  'CREATE PROPERTY Session.key IF NOT EXISTS STRING',
  'CREATE INDEX IF NOT EXISTS ON Session (key) UNIQUE',
];

const setPart = 'UPDATE Session SET key = :key, value = :value UPSERT WHERE key = :key';
const writeText = ['BEGIN', setPart, setPart.replaceAll(':key', ':other'), 'COMMIT'].join(';\n');

/**
 * Clients that write numbers of their own and read them, and those of others, at whatever server: with the bookmark of their session
 * (C3), or as they come (C4). A write sets two records at once.
 */
export class SessionWork {
  readonly #bookmarks = new Map<number, Index>();
  readonly #random: (n: number) => number;
  readonly #count: number;

  constructor(count: number, random: (n: number) => number) {
    this.#count = count;
    this.#random = random;
  }

  /** @param leader undefined: nobody knows of one @param number larger than all before */
  attempt(
    client: number,
    number: number,
    { host, open }: { readonly host: DatabaseHost; readonly open: readonly DatabaseHost[] },
  ): SessionAttempt {
    const anyone = open[this.#random(open.length)] ?? host;
    if (this.#random(3) === 0) return this.#write(client, number, host);
    return this.#random(2) === 0 ? this.#read(client, anyone) : state(anyone);
  }

  #write(client: number, value: number, host: DatabaseHost): SessionAttempt {
    const key = `c${client}`;
    const parameters = { key, other: `${key}+`, value };
    return {
      op: 'write',
      key,
      value,
      node: host.name,
      run: async (replayKey) => {
        const rows = await host.run(writeText, parameters, { language: 'sqlscript', replayKey });
        this.#learn(client, host.bookmark);
        return rows;
      },
    };
  }

  #read(client: number, host: DatabaseHost): SessionAttempt {
    const key = `c${this.#random(this.#count)}`;
    const bookmark = this.#bookmarks.get(client);
    const text = 'SELECT value FROM Session WHERE key = :key';
    return {
      op: 'read',
      key,
      value: 0,
      isRead: true,
      node: host.name,
      run: async () => {
        const rows = await host.read(text, { key }, { level: 'read_your_writes', bookmark });
        this.#learn(client, host.bookmark);
        return rows;
      },
      told: ([row]) => row?.['value'] ?? 0,
    };
  }

  /** A session of one server after another: what an answer says is never less than what the request brought. */
  #learn(client: number, bookmark: Index): void {
    const known = this.#bookmarks.get(client) ?? 0;
    if (bookmark < known)
      throw new Error(`C3: client ${client} knew ${known}, and is told ${bookmark}`);
    this.#bookmarks.set(client, bookmark);
  }
}

function state(host: DatabaseHost): SessionAttempt {
  return {
    op: 'state',
    value: {},
    isRead: true,
    node: host.name,
    run: () => host.run('SELECT key, value FROM Session'),
    told: seenState,
  };
}

function seenState(rows: readonly PlainRow[]): SeenState {
  const seen: Record<string, number[]> = {};
  for (const { key, value } of rows) {
    const name = String(key).replace('+', '');
    seen[name] = [...(seen[name] ?? []), Number(value)];
  }
  // Both parts are made at once: one alone is half of a transaction.
  for (const parts of Object.values(seen)) if (parts.length < 2) parts.push(0);
  return seen;
}

/** Of the histories of sessions, those whose operations tell of the checker. */
export function ofKinds(history: readonly Operation[], ops: readonly string[]): Operation[] {
  return history.filter(({ op }) => ops.includes(op));
}
