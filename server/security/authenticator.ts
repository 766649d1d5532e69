import { hash } from 'node:crypto';
import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Random } from '#core/runtime.ts';
import type { KeyDerivation } from '#platform/key-derivation.ts';
import { apiTokenPrefix } from './api-token-file.ts';
import type { ApiTokens } from './api-tokens.ts';
import type { Audit } from './audit.ts';
import { rootName } from './credential-policy.ts';
import type { LastHeader } from './last-header.ts';
import type { LoginAttempts } from './login-attempts.ts';
import { decoyRecord, verifyPassword } from './password-record.ts';
import type { TokenSessions } from './token-sessions.ts';
import type { User, Users } from './users.ts';

/** Why nobody could be made of an `Authorization` header. */
export type Refusal =
  | 'missing'
  | 'malformed-basic'
  | 'wrong-password'
  | 'locked'
  | 'unknown-scheme'
  | 'dead-token'
  | 'dead-api-token'
  | 'busy';

export type Authentication =
  | { readonly principal: Principal; readonly refusal?: undefined }
  | { readonly principal?: undefined; readonly refusal: Refusal };

export interface AuthenticatorOptions {
  readonly users: Users;
  readonly tokens: TokenSessions;
  readonly apiTokens: ApiTokens;
  readonly attempts: LoginAttempts;
  readonly derivation: KeyDerivation;
  readonly random: Random;
  readonly audit: Audit;
  /** Verified credentials that are remembered; read at each use. */
  readonly cacheSize: () => number;
  /** Iterations of the decoy for unknown names; read at each use. */
  readonly iterations: () => number;
}

/** Where a request comes from: the client's address, and its id for the log. */
export interface RequestOrigin {
  readonly source: string;
  readonly requestId?: string;
}

interface Verified {
  readonly principal: Principal;
  readonly generation: number;
}

/**
 * Turns an `Authorization` header into a principal (http-api.md 2, security.md 3). Verified Basic credentials are
 * remembered under the SHA-256 of the header and the generation of their user, so that a password is derived once and not
 * per request; the plain text is never kept.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #verified = new Map<string, Verified>();
  readonly #running = new Map<string, Promise<Authentication>>();
  #caughtUp = () => Promise.resolve();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * Before each check of a password, of known and of unknown names alike: a user that another server of the cluster has just made
   * or changed is known here then.
   */
  catchUpBy(caughtUp: () => Promise<void>): void {
    this.#caughtUp = caughtUp;
  }

  /** What can be said at once: tokens, remembered credentials and malformed headers; undefined for the rest. */
  authenticateNow(header: string | undefined, last?: LastHeader): Authentication | undefined {
    if (header !== undefined && header === last?.header)
      return last.kind === 'basic' ? this.#remembered(last.key) : this.#authenticateToken(last.key);
    if (header === undefined || header.trim() === '') return refusals.missing;
    if (/^basic(?: |$)/i.test(header)) {
      const digest = digestOf(header);
      last?.set(header, 'basic', digest);
      return this.#remembered(digest);
    }
    const bearer = /^bearer(?: +(.*))?$/i.exec(header);
    if (!bearer) return refusals['unknown-scheme'];
    const token = (bearer[1] ?? '').trim();
    last?.set(header, 'bearer', token);
    return this.#authenticateToken(token);
  }

  /** The whole check; derives a key when it must. `origin` is for the audit. */
  async authenticate(header: string | undefined, origin: RequestOrigin): Promise<Authentication> {
    const known = this.authenticateNow(header);
    if (known || header === undefined) return known ?? refusals.missing;
    const token = /^bearer(?: +(.*))?$/i.exec(header);
    if (token) return this.#askElsewhere((token[1] ?? '').trim());
    const credentials = parseBasic(header);
    if (!credentials) return refusals['malformed-basic'];
    const digest = digestOf(header);
    // The same credentials on several connections at once are checked once.
    let running = this.#running.get(digest);
    if (!running) {
      running = this.#checkUnchanged(credentials, digest, origin);
      this.#running.set(digest, running);
      const forget = () => this.#running.delete(digest);
      running.then(forget, forget);
    }
    return running;
  }

  /** A token of another server of the cluster. */
  async #askElsewhere(token: string): Promise<Authentication> {
    try {
      const principal = await this.#options.tokens.ask(token);
      return principal ? { principal } : refusals['dead-token'];
    } catch (error) {
      if (error instanceof DatabaseError && error.code === 'Busy') return refusals.busy;
      throw error;
    }
  }

  #authenticateToken(token: string): Authentication | undefined {
    const { tokens, apiTokens } = this.#options;
    const isApiToken = token.startsWith(apiTokenPrefix);
    const principal = isApiToken ? apiTokens.find(token) : tokens.findOrAsk(token);
    if (principal === 'ask') return undefined;
    if (principal) return { principal };
    return refusals[isApiToken ? 'dead-api-token' : 'dead-token'];
  }

  #remembered(digest: string): Authentication | undefined {
    const verified = this.#verified.get(digest);
    if (!verified) return undefined;
    const { users, attempts } = this.#options;
    if (users.get(verified.principal.name)?.generation !== verified.generation) {
      this.#verified.delete(digest);
      return undefined;
    }
    // A locked name stays locked for the right password too, after the time that a check takes.
    if (attempts.isLocked(verified.principal.name)) return undefined;
    attempts.forgive(verified.principal.name);
    return verified;
  }

  /** A user who got another record while the password was checked, as when a cluster forms, is checked once more. */
  async #checkUnchanged(
    credentials: Credentials,
    digest: string,
    origin: RequestOrigin,
  ): Promise<Authentication> {
    const { users } = this.#options;
    await this.#caughtUp();
    const before = users.get(credentials.name)?.generation;
    const found = await this.#check(credentials, digest, origin);
    const hasChanged = users.get(credentials.name)?.generation !== before;
    if (found.refusal !== 'wrong-password' || !hasChanged) return found;
    return this.#check(credentials, digest, origin);
  }

  async #check(
    { name, password }: Credentials,
    digest: string,
    { source, requestId }: RequestOrigin,
  ): Promise<Authentication> {
    const { users, attempts, derivation, audit } = this.#options;
    const user = users.get(name);
    const isLocked = attempts.isLocked(name) || attempts.isCrowded(name);
    if (!isLocked) attempts.start(name);
    let outcome: 'right' | 'wrong' | 'unknown' = 'unknown';
    try {
      const record = isLocked || !user ? this.#decoy() : user.password;
      const isRight = (await verifyPassword(password, record, derivation)) && user !== undefined;
      outcome = isRight ? 'right' : 'wrong';
    } catch (error) {
      if (error instanceof DatabaseError && error.code === 'Busy') return refusals.busy;
      throw error;
    } finally {
      if (!isLocked) attempts.finish(name, outcome);
    }
    if (isLocked) return refusals.locked;
    if (outcome === 'wrong' || !user) {
      const isLockedNow = attempts.isLocked(name);
      audit.report(
        'WARNING',
        `login of '${name}' from ${source} failed${isLockedNow ? '; the name is locked' : ''}`,
        requestId,
      );
      return refusals['wrong-password'];
    }
    return this.#accept(user, password, digest);
  }

  #accept(user: User, password: string, digest: string): Authentication {
    const { users, cacheSize } = this.#options;
    if (user.password.scheme === 'legacy') void users.rewritePassword(user.name, password);
    const principal: Principal = {
      name: user.name,
      isRoot: user.name === rootName,
      via: 'password',
    };
    const verified = { principal, generation: user.generation };
    if (users.get(user.name)?.generation !== user.generation) return refusals['wrong-password'];
    const max = cacheSize();
    for (const oldest of this.#verified.keys()) {
      if (this.#verified.size < max) break;
      this.#verified.delete(oldest);
    }
    if (max > 0) this.#verified.set(digest, verified);
    return verified;
  }

  #decoy() {
    return decoyRecord(this.#options.random, this.#options.iterations());
  }
}

const refusals: { readonly [R in Refusal]: Authentication } = {
  missing: { refusal: 'missing' },
  'malformed-basic': { refusal: 'malformed-basic' },
  'wrong-password': { refusal: 'wrong-password' },
  locked: { refusal: 'locked' },
  'unknown-scheme': { refusal: 'unknown-scheme' },
  'dead-token': { refusal: 'dead-token' },
  'dead-api-token': { refusal: 'dead-api-token' },
  busy: { refusal: 'busy' },
};

interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** Name and password of a Basic header, split at the first colon; undefined when there is none or it is no base64. */
function parseBasic(header: string): Credentials | undefined {
  const encoded = header.slice('basic'.length).trim();
  if (encoded === '' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

function digestOf(header: string): string {
  return hash('sha256', header, 'base64');
}
