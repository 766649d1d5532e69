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

/** Read at each use, so that changed settings hold at once; 0 means none. */
export interface TokenLimits {
  readonly idleMs: () => number;
  readonly absoluteMs: () => number;
  readonly perUserMax: () => number;
  readonly countMax: () => number;
}

const metadataLengthMax = 256;
const refusedTokenShape = 512;

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

  constructor(options: {
    serverName: string;
    users: Users;
    clock: Clock;
    random: Random;
    limits: TokenLimits;
    audit: Audit;
  }) {
    this.#serverName = options.serverName.replaceAll(/[^A-Za-z0-9.-]/g, '_');
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

  /** The principal behind a valid token; counts as use. Cost: two map lookups. */
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

function shorten(text: string | null): string | null {
  return text === null ? null : text.slice(0, metadataLengthMax);
}
