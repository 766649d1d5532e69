import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Clock, Random } from '#core/runtime.ts';
import type { Audit } from './audit.ts';
import { rootName } from './credential-policy.ts';
import type { Users } from './users.ts';

/** What is known of the client that logged in; informational only. */
export interface ClientMetadata {
  readonly sourceIp: string | null;
  readonly userAgent: string | null;
  readonly country: string | null;
  readonly city: string | null;
}

/** A login (http-api.md 14). Times are epoch milliseconds. */
export interface TokenSession extends ClientMetadata {
  readonly token: string;
  readonly principal: Principal;
  readonly generation: number;
  readonly createdAt: number;
  readonly createdMonotonicMs: number;
  lastUpdate: number;
  lastUseMonotonicMs: number;
}

/** A token of another server of the cluster, as this one knows it (contract 1, Authentication 7). */
export interface TokenCopy {
  readonly token: string;
  readonly principal: Principal;
  readonly generation: number;
  /** Name of the server that gave it out. */
  readonly issuer: string;
  readonly createdAt: number;
  readonly createdMonotonicMs: number;
  lastUpdate: number;
  lastUseMonotonicMs: number;
  /** When the issuer was asked last, and when it said last that it holds the session. */
  askedMonotonicMs: number;
  confirmedMonotonicMs: number;
}

/** What a server says of a token that it gave out. */
export interface ConfirmedToken {
  readonly user: string;
  readonly createdAt: number;
  /** Of the user there (`Users.credentialOf`). */
  readonly credential: string | undefined;
}

export interface ConfirmedElsewhere extends ConfirmedToken {
  /** Resolves when this server has what the other one had when it answered, or cannot get it in time. */
  readonly caughtUp: () => Promise<void>;
}

/** The other servers of a cluster, as far as tokens go. */
export interface RemoteTokens {
  /** The server that gave the token out, when it is another one that is known. */
  issuerOf(token: string): string | undefined;
  /** @throws DatabaseError `Busy` when too many are asked for */
  validate(token: string): Promise<'unknown' | 'unreachable' | ConfirmedElsewhere>;
  /** Makes every server forget the token. */
  revoke(token: string): void;
}

/** Read at each use, so that changed settings hold at once; 0 means none. */
export interface TokenLimits {
  readonly idleMs: () => number;
  readonly absoluteMs: () => number;
  readonly perUserMax: () => number;
  readonly countMax: () => number;
}

const metadataLengthMax = 256;
const refusedTokenShape = 512;
/** A copy is confirmed by its issuer at least so often. */
const confirmEveryMsMax = 60_000;

/**
 * Tokens that `POST /login` gave out, in memory only. A token dies by idle time, age, logout, a new password of its user
 * or the user's end.
 */
export class TokenSessions {
  readonly #serverName: string;
  readonly #users: Users;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: TokenLimits;
  readonly #audit: Audit;
  readonly #byToken = new Map<string, TokenSession>();
  /** Tokens of each user, oldest first. */
  readonly #byUser = new Map<string, Set<TokenSession>>();
  /** Of other servers; bounded like our own. */
  readonly #copies = new Map<string, TokenCopy>();
  readonly #asking = new Map<string, Promise<Principal | undefined>>();
  #remote: RemoteTokens | undefined;

  constructor(options: {
    serverName: string;
    users: Users;
    clock: Clock;
    random: Random;
    limits: TokenLimits;
    audit: Audit;
  }) {
    this.#serverName = serverNameInTokens(options.serverName);
    this.#users = options.users;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#limits = options.limits;
    this.#audit = options.audit;
    options.users.onRevoked((name) => this.#dropUser(name));
  }

  /**
   * @returns the new token
   * @throws DatabaseError `Busy` when the server holds as many tokens as it may
   */
  login(userName: string, client: ClientMetadata): string {
    const user = this.#users.get(userName);
    if (!user) throw new DatabaseError('Unauthorized', 'User/Password not valid');
    this.#makeRoom(userName);
    const token = `AU-${this.#serverName}-${this.#random.uuid()}`;
    const now = this.#clock.now();
    const session: TokenSession = {
      token,
      principal: { name: userName, isRoot: userName === rootName, via: 'token' },
      generation: user.generation,
      createdAt: now,
      createdMonotonicMs: this.#clock.monotonicMs(),
      lastUpdate: now,
      lastUseMonotonicMs: this.#clock.monotonicMs(),
      sourceIp: shorten(client.sourceIp),
      userAgent: shorten(client.userAgent),
      country: shorten(client.country),
      city: shorten(client.city),
    };
    this.#byToken.set(token, session);
    let ofUser = this.#byUser.get(userName);
    if (!ofUser) {
      ofUser = new Set();
      this.#byUser.set(userName, ofUser);
    }
    ofUser.add(session);
    return token;
  }

  /** From now on tokens of other servers are honoured, too. */
  shareWith(remote: RemoteTokens): void {
    this.#remote = remote;
  }

  /** As `find`; `'ask'` when another server must be asked, by `ask`. */
  findOrAsk(token: string): Principal | 'ask' | undefined {
    const own = this.find(token);
    if (own !== undefined || this.#remote === undefined || this.#byToken.has(token)) return own;
    if (token.length > refusedTokenShape) return undefined;
    const copy = this.#copies.get(token);
    if (copy === undefined) return this.#remote.issuerOf(token) === undefined ? undefined : 'ask';
    return this.#useOfCopy(copy);
  }

  /**
   * Asks the server that gave the token out; many askers of one token are one question.
   * @throws DatabaseError `Busy`
   */
  ask(token: string): Promise<Principal | undefined> {
    let asking = this.#asking.get(token);
    if (asking === undefined) {
      asking = this.#ask(token).finally(() => this.#asking.delete(token));
      this.#asking.set(token, asking);
    }
    return asking;
  }

  #useOfCopy(copy: TokenCopy): Principal | 'ask' | undefined {
    const now = this.#clock.monotonicMs();
    const idleMs = this.#limits.idleMs();
    const isOver =
      now - copy.confirmedMonotonicMs > idleMs ||
      this.#users.get(copy.principal.name)?.generation !== copy.generation;
    if (isOver) {
      this.#copies.delete(copy.token);
      return this.#users.get(copy.principal.name) === undefined ? undefined : 'ask';
    }
    if (now - copy.askedMonotonicMs > Math.min(idleMs / 3, confirmEveryMsMax)) return 'ask';
    copy.lastUseMonotonicMs = now;
    copy.lastUpdate = this.#clock.now();
    return copy.principal;
  }

  async #ask(token: string): Promise<Principal | undefined> {
    const issuer = this.#remote?.issuerOf(token);
    if (this.#remote === undefined || issuer === undefined) return undefined;
    const generationOf = (user: string) => this.#users.get(user)?.generation;
    const known = this.#copies.get(token);
    const before = known && generationOf(known.principal.name);
    const found = await this.#remote.validate(token);
    const now = this.#clock.monotonicMs();
    if (found === 'unreachable') {
      // For at most one idle time after the last word of the issuer.
      const copy = this.#copies.get(token);
      if (copy === undefined || copy !== known) return undefined;
      copy.askedMonotonicMs = now;
      const use = this.#useOfCopy(copy);
      return use === 'ask' ? undefined : use;
    }
    const isProven = found !== 'unknown' && (await this.#hasSameCredential(found));
    const generation = isProven ? generationOf(found.user) : undefined;
    const hasChanged = before !== undefined && before !== generation;
    if (!isProven || generation === undefined || hasChanged) {
      this.#copies.delete(token);
      return undefined;
    }
    const principal: Principal = {
      name: found.user,
      isRoot: found.user === rootName,
      via: 'token',
    };
    this.#keepCopy({
      token,
      principal,
      generation,
      issuer,
      createdAt: found.createdAt,
      createdMonotonicMs: now,
      lastUpdate: this.#clock.now(),
      lastUseMonotonicMs: now,
      askedMonotonicMs: now,
      confirmedMonotonicMs: now,
    });
    return principal;
  }

  /** Else one of the two has not applied the last change of the user: this one waits for it, the other one's word is not taken. */
  async #hasSameCredential({ user, credential, caughtUp }: ConfirmedElsewhere): Promise<boolean> {
    if (this.#users.credentialOf(user) === credential) return true;
    await caughtUp();
    return this.#users.credentialOf(user) === credential;
  }

  #keepCopy(copy: TokenCopy): void {
    this.#copies.delete(copy.token);
    this.#copies.set(copy.token, copy);
    const countMax = this.#limits.countMax();
    for (const oldest of this.#copies.keys()) {
      if (countMax === 0 || this.#copies.size <= countMax) break;
      this.#copies.delete(oldest);
    }
  }

  /** What another server is told of a token of this one; counts as use. */
  confirm(token: string): ConfirmedToken | undefined {
    const user = this.find(token)?.name;
    const createdAt = this.#byToken.get(token)?.createdAt;
    if (user === undefined || createdAt === undefined) return undefined;
    return { user, createdAt, credential: this.#users.credentialOf(user) };
  }

  /** Another server has ended it. */
  revokedElsewhere(token: string): void {
    this.#copies.delete(token);
    const session = this.#byToken.get(token);
    if (session) this.#drop(session);
  }

  /** Copies of tokens of other servers. */
  copies(): readonly { readonly copy: TokenCopy; readonly elapsedMs: number }[] {
    const now = this.#clock.monotonicMs();
    return [...this.#copies.values()]
      .filter((copy) => this.#users.get(copy.principal.name)?.generation === copy.generation)
      .map((copy) => ({
        copy,
        elapsedMs: Math.max(0, Math.round(now - copy.lastUseMonotonicMs)),
      }));
  }

  /** The principal behind a valid token of this server; counts as use. Cost: two map lookups. */
  find(token: string): Principal | undefined {
    if (token.length > refusedTokenShape) return undefined;
    const session = this.#byToken.get(token);
    if (!session) return undefined;
    const monotonicMs = this.#clock.monotonicMs();
    if (!this.#isAlive(session, monotonicMs)) {
      this.#drop(session);
      return undefined;
    }
    session.lastUseMonotonicMs = monotonicMs;
    session.lastUpdate = this.#clock.now();
    return session.principal;
  }

  logout(token: string): void {
    const session = this.#byToken.get(token);
    const isOurs = session !== undefined || this.#copies.delete(token);
    if (isOurs || this.#remote?.issuerOf(token) !== undefined) this.#remote?.revoke(token);
    if (!session) return;
    this.#drop(session);
    this.#audit.report('INFO', `user '${session.principal.name}' logged out`);
  }

  /** Valid tokens with the time since their last use, oldest first. */
  list(): readonly { readonly session: TokenSession; readonly elapsedMs: number }[] {
    this.#sweep();
    const now = this.#clock.monotonicMs();
    return [...this.#byToken.values()].map((session) => ({
      session,
      elapsedMs: Math.max(0, Math.round(now - session.lastUseMonotonicMs)),
    }));
  }

  #isAlive(session: TokenSession, now: number): boolean {
    if (now - session.lastUseMonotonicMs > this.#limits.idleMs()) return false;
    const absoluteMs = this.#limits.absoluteMs();
    if (absoluteMs > 0 && now - session.createdMonotonicMs > absoluteMs) return false;
    return this.#users.get(session.principal.name)?.generation === session.generation;
  }

  /** The cap of the user comes first: whoever is at it makes room by losing the oldest token of their own. */
  #makeRoom(userName: string): void {
    const perUserMax = this.#limits.perUserMax();
    const countMax = this.#limits.countMax();
    const ofUser = this.#byUser.get(userName);
    if (ofUser && perUserMax > 0) {
      for (const session of ofUser) {
        if (ofUser.size < perUserMax) break;
        this.#drop(session);
        this.#audit.report(
          'INFO',
          `the oldest token of user '${userName}' made room for a new one`,
        );
      }
    }
    if (countMax === 0 || this.#byToken.size < countMax) return;
    this.#sweep();
    if (this.#byToken.size >= countMax)
      throw new DatabaseError('Busy', 'Too many authentication sessions');
  }

  #sweep(): void {
    const now = this.#clock.monotonicMs();
    for (const session of this.#byToken.values())
      if (!this.#isAlive(session, now)) this.#drop(session);
  }

  #dropUser(name: string): void {
    for (const copy of this.#copies.values())
      if (copy.principal.name === name) this.#copies.delete(copy.token);
    const sessions = this.#byUser.get(name);
    if (!sessions) return;
    this.#audit.report('INFO', `${sessions.size} tokens of user '${name}' revoked`);
    for (const session of sessions) this.#drop(session);
  }

  #drop(session: TokenSession): void {
    this.#byToken.delete(session.token);
    const ofUser = this.#byUser.get(session.principal.name);
    ofUser?.delete(session);
    if (ofUser?.size === 0) this.#byUser.delete(session.principal.name);
  }
}

/** As it stands in tokens (contract 1, Authentication 7). */
export function serverNameInTokens(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9.-]/g, '_');
}

function shorten(text: string | null): string | null {
  return text === null ? null : text.slice(0, metadataLengthMax);
}
