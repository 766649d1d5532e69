import { verificationCodes } from '../api/verification.ts';
import type { Runtime } from '../api/runtime.ts';
import type { DatabaseBackups, MemberSetting } from '../api/observation.ts';
import type { Archive } from '../api/kinds/backup-view.ts';
import type { RaftAnswer } from '../api/group.ts';
import { parseRaftAnswer } from '../api/group.ts';
import { backupHistory, databasesMax } from './backup-history.ts';
import { Pace } from './pace.ts';

/*
 * Talks to members over the HTTP API only (contract document 1). One login per member and password; the token is kept, since a
 * password costs the member a key derivation each time. A refused password is not tried again for a minute: a few failures
 * would lock the name for everybody.
 */

/** One request to a member; what lies below may be a socket or a simulated member. */
export interface MemberTransport {
  send(
    address: MemberAddress,
    request: {
      readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly timeoutMs: number;
    },
  ): Promise<{ readonly status: number; readonly body: string }>;
}

export interface MemberAddress {
  readonly host: string;
  readonly port: number;
  /** It is spoken with over TLS; undefined: in plain HTTP. */
  readonly tls?: MemberTls;
}

export interface MemberTls {
  /** PEM text of who may have signed what the member shows. */
  readonly authorities: string;
  /** One of them must stand in it. */
  readonly names: readonly string[];
}

/** Whom to talk to: the address, and which life of the member, since tokens do not outlive it. */
export interface Member {
  readonly address: MemberAddress;
  readonly incarnation: string;
}

/** A member refused, in words that name what was asked and never the credentials. */
export class MemberError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'MemberError';
    this.status = status;
  }
}

const timeoutsMs = {
  probe: 1000,
  group: 3000,
  call: 5000,
  // What a member does not answer by then is looked at anew: each of these may be repeated.
  membership: 30_000,
  backup: 3_600_000,
  // Of calls that no worker waits for.
  long: 86_400_000,
} as const;
const clusterPath = '/api/v1/cluster';
const mcpConfigPath = '/api/v1/mcp/config';
const refusedMs = 60_000;
const backupsMs = 300_000;
/** Of members that were asked last: more than there are in any cluster, so that none logs in again for want of a place. */
const sessionsMax = 10_000;

interface Session {
  readonly token: string;
}

/** A question waits for its turn; what cannot wait counts, and what its caller has waited for does not. */
type Turn = 'waits' | 'counts' | 'taken';

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly turn: Turn;
}

export class DatabaseClient {
  /** How fast members are asked; whoever calls `isReady` and `group` waits for the turn. */
  readonly pace: Pace;
  readonly #transport: MemberTransport;
  readonly #runtime: Runtime;
  readonly #sessions = new Map<string, Session>();
  /** Under way, so that two questions to one member log in once. */
  readonly #logins = new Map<string, Promise<string>>();
  readonly #refusedUntil = new Map<string, number>();
  readonly #backups = new Map<
    string,
    { readonly history: readonly DatabaseBackups[]; readonly atMs: number }
  >();

  constructor(transport: MemberTransport, runtime: Runtime, pace: Pace = new Pace(runtime)) {
    this.pace = pace;
    this.#transport = transport;
    this.#runtime = runtime;
  }

  /** @returns undefined when the member could not be asked */
  async isReady({ address }: Member): Promise<boolean | undefined> {
    try {
      const answer = await this.#transport.send(address, {
        method: 'GET',
        path: '/api/v1/ready',
        headers: {},
        timeoutMs: timeoutsMs.probe,
      });
      if (answer.status === 204) return true;
      return answer.status === 503 ? false : undefined;
    } catch {
      return undefined;
    }
  }

  /** What it says of its group; undefined when it could not be asked, has no group or has not begun. */
  async group(
    member: Member,
    password: string,
    timeoutMs: number = timeoutsMs.group,
  ): Promise<RaftAnswer | undefined> {
    try {
      const request = { method: 'GET', path: clusterPath, timeoutMs, turn: 'taken' } as const;
      return parseRaftAnswer(await this.#call(member, password, request));
    } catch (error) {
      if (error instanceof MemberError || error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** A change of the group, or of who leads it. @throws MemberError */
  async manageGroup(
    member: Member,
    password: string,
    request: { readonly method: 'POST' | 'DELETE'; readonly path: string; readonly body?: object },
  ): Promise<void> {
    const { method, path, body } = request;
    await this.#call(member, password, {
      method,
      path: `${clusterPath}${path}`,
      ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      timeoutMs: timeoutsMs.membership,
      turn: 'counts',
    });
  }

  /** @throws MemberError */
  async info(
    member: Member,
    password: string,
  ): Promise<{
    readonly version: string | undefined;
    readonly settings: ReadonlyMap<string, MemberSetting>;
  }> {
    const request = { method: 'GET', path: '/api/v1/server', turn: 'waits' } as const;
    const body = await this.#call(member, password, request);
    const parsed = JSON.parse(body) as {
      version?: string;
      settings?: readonly { key: string; value: unknown; default: unknown }[];
    };
    const settings = (parsed.settings ?? []).map(
      ({ key, value, default: standard }) =>
        [key, { value: String(value ?? ''), default: String(standard ?? '') }] as const,
    );
    return { version: parsed.version, settings: new Map(settings) };
  }

  async setSetting(member: Member, password: string, key: string, value: string): Promise<void> {
    await this.command(member, password, { command: `set server setting ${key} ${quoted(value)}` });
  }

  /** @returns the configuration, null when there is none, `unsupported` when the server does not know the command */
  async backupConfig(
    member: Member,
    password: string,
  ): Promise<{ readonly config: unknown } | 'unsupported'> {
    try {
      const body = await this.#ask(member, password, 'get backup config');
      const { config } = JSON.parse(body) as { config?: unknown };
      return { config: config ?? null };
    } catch (error) {
      if (error instanceof MemberError && error.status === 400) return 'unsupported';
      throw error;
    }
  }

  async setBackupConfig(member: Member, password: string, config: string): Promise<void> {
    const parsed: unknown = JSON.parse(config);
    await this.command(member, password, { command: 'set backup config', config: parsed });
  }

  /** Asked for now and then only: it lists directories on the member. */
  async backups(member: Member, password: string): Promise<readonly DatabaseBackups[]> {
    const known = this.#backups.get(member.incarnation);
    const now = this.#runtime.clock.monotonicMs();
    if (known !== undefined && now - known.atMs < backupsMs) return known.history;
    const ask = (command: string) => this.#resultOf(member, password, command);
    const names = await this.databaseNames(member, password);
    const archives = new Map<string, readonly object[]>();
    for (const name of names.slice(0, databasesMax))
      archives.set(name, (await ask(`list backups ${name}`)) ?? []);
    const events = (await ask('get server events')) ?? [];
    const history = backupHistory({ archives, events });
    keepNewest(this.#backups, member.incarnation, { history, atMs: now });
    return history;
  }

  async databaseNames(member: Member, password: string): Promise<readonly string[]> {
    const names = await this.#resultOf(member, password, 'list databases');
    return (names ?? []) as unknown as readonly string[];
  }

  /** The archives of a database that lie on the member. */
  async archives(member: Member, password: string, database: string): Promise<readonly Archive[]> {
    const list = (await this.#resultOf(member, password, `list backups ${database}`)) ?? [];
    return (list as readonly { fileName: string; size?: number; timestamp: string }[]).map(
      // Members name an archive by the time of their zone, which is UTC in our image.
      ({ fileName, size: bytes, timestamp }) => ({
        fileName,
        bytes,
        takenAtMs: Date.parse(`${timestamp}Z`),
      }),
    );
  }

  /** Resolves when the archive is whole, which may take hours. @returns its file name */
  async triggerBackup(member: Member, password: string, database: string): Promise<string> {
    const command = { command: `trigger backup ${database}` };
    const answer = await this.command(member, password, command, timeoutsMs.long);
    return String((JSON.parse(answer) as { backupFile?: string }).backupFile ?? '');
  }

  /** Makes a database of an archive on the leader; resolves when it is whole, which may take hours. */
  async restoreArchive(
    leader: Member,
    password: string,
    about: {
      readonly database: string;
      readonly fileName: string;
      readonly as: string;
      readonly overwrites: boolean;
    },
  ): Promise<string> {
    const { database, fileName, as, overwrites } = about;
    const command = `restore backup ${database} ${fileName} as ${as}`;
    const body = { command, ...(overwrites ? { overwrite: true } : undefined) };
    return this.command(leader, password, body, timeoutsMs.long);
  }

  /** Makes a database of an archive that the leader fetches; resolves when it is whole. */
  async restoreUrl(
    leader: Member,
    password: string,
    { url, as }: { readonly url: string; readonly as: string },
  ): Promise<string> {
    const command = `restore database ${as} ${quoted(url)}`;
    return this.command(leader, password, { command }, timeoutsMs.long);
  }

  /** One that is not there is as good as deleted. */
  async deleteArchive(
    member: Member,
    password: string,
    { database, name }: { readonly database: string; readonly name: string },
  ): Promise<void> {
    try {
      await this.command(member, password, { command: `delete backup ${database} ${name}` });
    } catch (error) {
      if (!(error instanceof MemberError) || error.status !== 404) throw error;
    }
  }

  async #resultOf(member: Member, password: string, command: string) {
    const answer = await this.#ask(member, password, command);
    return (JSON.parse(answer) as { result?: unknown }).result as readonly object[] | undefined;
  }

  /** @returns the configuration of the tool server, `unsupported` when the member has none */
  async mcpConfig(
    member: Member,
    password: string,
  ): Promise<{ readonly config: unknown } | 'unsupported'> {
    try {
      const request = { method: 'GET', path: mcpConfigPath, turn: 'waits' } as const;
      const body = await this.#call(member, password, request);
      return { config: JSON.parse(body) };
    } catch (error) {
      if (error instanceof MemberError && error.status === 404) return 'unsupported';
      throw error;
    }
  }

  async changeMcpConfig(member: Member, password: string, change: string): Promise<void> {
    const request = { method: 'POST', path: mcpConfigPath, turn: 'counts' } as const;
    await this.#call(member, password, { ...request, body: change });
  }

  /** Backs up every database that has no archive since then, one after the other; resolves when all are whole. */
  async backUpAll(member: Member, password: string, sinceMs: number): Promise<void> {
    for (const name of await this.databaseNames(member, password)) {
      const archives = await this.archives(member, password, name);
      if (archives.some(({ takenAtMs }) => takenAtMs >= sinceMs)) continue;
      await this.command(member, password, { command: `trigger backup ${name}` }, timeoutsMs.long);
    }
  }

  /** Compares what members hold of every database that is not above the size. @throws MemberError of `verificationCodes`, among others */
  async verifyAll(member: Member, password: string, bytesMax: number): Promise<void> {
    const incomplete: string[] = [];
    for (const name of await this.databaseNames(member, password)) {
      if ((await this.#bytesOf(member, password, name)) > bytesMax) continue;
      const path = `${clusterPath}/verify/${encodeURIComponent(name)}`;
      const request = { method: 'POST', path, timeoutMs: timeoutsMs.long, turn: 'counts' } as const;
      const { result } = JSON.parse(await this.#call(member, password, request)) as {
        readonly result: { readonly overallStatus?: string };
      };
      if (result.overallStatus === 'INCONSISTENCY_DETECTED')
        throw new MemberError(
          verificationCodes.inconsistent,
          `the members hold different content of database ${name}: POST /api/v1/cluster/verify/${name} tells what differs`,
        );
      if (result.overallStatus !== 'ALL_CONSISTENT') incomplete.push(name);
    }
    if (incomplete.length > 0)
      throw new MemberError(
        verificationCodes.incomplete,
        `not every member could be compared: ${incomplete.join(', ')}`,
      );
  }

  async #bytesOf(member: Member, password: string, database: string): Promise<number> {
    const body = await this.#call(member, password, {
      method: 'POST',
      path: `/api/v1/query/${encodeURIComponent(database)}`,
      body: JSON.stringify({ language: 'sql', command: 'SELECT size FROM schema:database' }),
      turn: 'waits',
    });
    const { result } = JSON.parse(body) as { readonly result: readonly { size?: number }[] };
    return result[0]?.size ?? 0;
  }

  /** Whether it is logged in to: a question that has to log in first is two requests. */
  hasSession(member: Member, password: string): boolean {
    return this.#sessions.has(sessionKey(member, password));
  }

  /** Whether it has answered less than a minute ago that it does not take this password. */
  refuses(member: Member, password: string): boolean {
    const untilMs = this.#refusedUntil.get(sessionKey(member, password)) ?? 0;
    return untilMs > this.#runtime.clock.monotonicMs();
  }

  /** Whether the member takes this password. @throws MemberError when it could not be asked */
  async accepts(member: Member, password: string): Promise<boolean> {
    try {
      await this.#login(member, password);
      return true;
    } catch (error) {
      if (error instanceof MemberError && (error.status === 401 || error.status === 403))
        return false;
      throw error;
    }
  }

  async changeRootPassword(member: Member, present: string, next: string): Promise<void> {
    await this.#call(member, present, {
      method: 'PUT',
      path: '/api/v1/server/users?name=root',
      body: JSON.stringify({ password: next }),
      turn: 'counts',
    });
    this.#sessions.delete(sessionKey(member, present));
    // The new one may have been refused just now, to find out whether a change is needed.
    this.#refusedUntil.delete(sessionKey(member, next));
  }

  async command(
    member: Member,
    password: string,
    body: Readonly<Record<string, unknown>>,
    timeoutMs: number = timeoutsMs.call,
  ): Promise<string> {
    return this.#call(member, password, {
      method: 'POST',
      path: '/api/v1/server',
      body: JSON.stringify(body),
      timeoutMs,
      turn: 'counts',
    });
  }

  /** A command that changes nothing. */
  async #ask(member: Member, password: string, command: string): Promise<string> {
    const body = JSON.stringify({ command });
    const request = { method: 'POST', path: '/api/v1/server', body, turn: 'waits' } as const;
    return this.#call(member, password, request);
  }

  async #call(member: Member, password: string, call: Call): Promise<string> {
    const { turn, ...request } = call;
    const turns = this.hasSession(member, password) ? 1 : 2;
    if (turn === 'waits') await this.pace.turns(turns);
    else if (turn === 'counts') this.pace.count(turns);
    for (let attempt = 1; ; attempt++) {
      const token = await this.#login(member, password);
      const answer = await this.#send(member, {
        ...request,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      });
      if (answer.status < 300) return answer.body;
      // The token died: another login, once.
      if (answer.status !== 401 || attempt > 1) throw refusalOf(request, answer);
      this.#sessions.delete(sessionKey(member, password));
      this.pace.count(2);
    }
  }

  #login(member: Member, password: string): Promise<string> {
    const key = sessionKey(member, password);
    const session = this.#sessions.get(key);
    if (session !== undefined) return Promise.resolve(session.token);
    const pending = this.#logins.get(key) ?? this.#logIn(member, password, key);
    this.#logins.set(key, pending);
    return pending.finally(() => this.#logins.delete(key));
  }

  async #logIn(member: Member, password: string, key: string): Promise<string> {
    const now = this.#runtime.clock.monotonicMs();
    if (this.refuses(member, password))
      throw new MemberError(403, 'the root password was refused less than a minute ago');
    const basic = Buffer.from(`root:${password}`, 'utf8').toString('base64');
    const answer = await this.#send(member, {
      method: 'POST',
      path: '/api/v1/login',
      headers: { Authorization: `Basic ${basic}` },
    });
    if (answer.status === 401 || answer.status === 403) {
      this.#refusedUntil.set(key, now + refusedMs);
      throw new MemberError(answer.status, 'the member does not take the root password');
    }
    if (answer.status !== 200) throw refusalOf({ method: 'POST', path: '/api/v1/login' }, answer);
    const { token } = JSON.parse(answer.body) as { token: string };
    this.#keep(key, { token });
    return token;
  }

  #keep(key: string, session: Session): void {
    keepNewest(this.#sessions, key, session);
  }

  async #send(
    member: Member,
    request: {
      readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly timeoutMs?: number;
    },
  ): Promise<{ readonly status: number; readonly body: string }> {
    const { timeoutMs = timeoutsMs.call, ...rest } = request;
    try {
      return await this.#transport.send(member.address, { ...rest, timeoutMs });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new MemberError(0, `the member does not answer: ${why}`);
    }
  }
}

/** The server takes the rest of the line for the value, without quotes around it, and refuses a line that ends early. */
function quoted(value: string): string {
  if (!/^$|^\s|\s$|^".*"$|^'.*'$/s.test(value)) return value;
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}

/** Sets an entry, as the newest; the oldest one goes when there are too many. */
function keepNewest<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  const [oldest] = map.keys();
  if (map.size >= sessionsMax && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}

function sessionKey({ incarnation }: Member, password: string): string {
  return `${incarnation}\n${password}`;
}

function refusalOf(
  { method, path }: { readonly method: string; readonly path: string },
  answer: { readonly status: number; readonly body: string },
): MemberError {
  let said = '';
  try {
    const parsed = JSON.parse(answer.body) as { error?: string; detail?: string };
    said = parsed.detail ?? parsed.error ?? '';
  } catch {
    // Something in between answered.
  }
  return new MemberError(
    answer.status,
    `${method} ${path.split('?')[0] ?? ''} of the member answered ${answer.status}${said === '' ? '' : `: ${said}`}`,
  );
}
