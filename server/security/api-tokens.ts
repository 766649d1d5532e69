import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { serverApiTokenMax } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Clock, Random, Timers } from '#core/runtime.ts';
import {
  apiTokenPrefix,
  digestOfApiToken,
  formatApiTokens,
  parseApiTokens,
  type StoredApiToken,
  type TokenPermissions,
} from './api-token-file.ts';
import type { Audit } from './audit.ts';
import { requireName } from './credential-policy.ts';
import { WatchedFile } from './watched-file.ts';

/** What the principals of API tokens are called: this and the token's name. No user may begin with it. */
export const apiTokenPrincipalPrefix = 'apitoken:';

const tokenLength = apiTokenPrefix.length + 64;

/** What is given for a new token. */
export interface NewApiToken {
  readonly name: string;
  readonly database: string;
  /** Epoch milliseconds; 0 means never. */
  readonly expiresAt: number;
  readonly permissions: TokenPermissions;
}

/**
 * The API tokens of this server, kept in `server-api-tokens.json` as hashes. A change is in the file before it is in
 * force; edits of the file by hand are taken over. Tokens are found by the hash of what was sent, so the time of a search
 * tells nothing about a token (security.md 3.1).
 */
export class ApiTokens {
  readonly #file: WatchedFile;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #countMax: () => number;
  readonly #nameLengthMax: () => number;
  readonly #changed: (() => void)[] = [];
  readonly #revoked: ((principalName: string) => void)[] = [];
  #byName: ReadonlyMap<string, StoredApiToken> = new Map();
  #byHash: ReadonlyMap<string, StoredApiToken> = new Map();
  #changes: Promise<unknown> = Promise.resolve();

  constructor(options: {
    configDirectory: string;
    timers: Timers;
    clock: Clock;
    random: Random;
    audit: Audit;
    /** Read at each use. */
    countMax: () => number;
    /** `service.maxNameLength`; absent: 256 (limits.md 22). */
    nameLengthMax?: () => number;
  }) {
    this.#audit = options.audit;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#countMax = options.countMax;
    this.#nameLengthMax = options.nameLengthMax ?? (() => 256);
    this.#file = new WatchedFile({
      path: join(options.configDirectory, 'server-api-tokens.json'),
      timers: options.timers,
      changed: (text) => this.#reload(text),
      unreadable: (reason) => this.#audit.report('CRITICAL', reason),
    });
  }

  /** Reads the file; a broken one is renamed aside and no token is valid. */
  async load(): Promise<void> {
    const text = await this.#file.read();
    if (text === undefined) return;
    try {
      const { tokens, heldPlainTokens } = parseApiTokens(text);
      if (heldPlainTokens) await this.#store(tokens);
      else this.#use(tokens);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      await rename(this.#file.path, this.#file.path.replace(/\.json$/, '-error.json'));
      this.#audit.report('CRITICAL', `${this.#file.path} is broken: ${error.message}`);
    }
  }

  watch(everyMs: number): void {
    this.#file.watch(everyMs);
  }

  /** Takes over an edit of the file at once instead of at the next look. */
  async poll(): Promise<void> {
    await this.#file.poll();
  }

  close(): void {
    this.#file.close();
  }

  /** Calls `listener` after any change. */
  onChanged(listener: () => void): void {
    this.#changed.push(listener);
  }

  /** Calls `listener` with the name of a principal whose token was deleted. */
  onRevoked(listener: (principalName: string) => void): void {
    this.#revoked.push(listener);
  }

  /** Who sent a token; undefined for unknown and expired ones. Cost: one hash and one map lookup. */
  find(token: string): Principal | undefined {
    if (token.length !== tokenLength) return undefined;
    const stored = this.#byHash.get(digestOfApiToken(token));
    if (!stored || this.isExpired(stored)) return undefined;
    return { name: apiTokenPrincipalPrefix + stored.name, isRoot: false, via: 'api-token' };
  }

  /** The token behind a principal; undefined when it was deleted or has expired. */
  ofPrincipal(principalName: string): StoredApiToken | undefined {
    const stored = this.#byName.get(principalName.slice(apiTokenPrincipalPrefix.length));
    return stored && !this.isExpired(stored) ? stored : undefined;
  }

  isExpired(token: StoredApiToken): boolean {
    return token.expiresAt > 0 && token.expiresAt <= this.#clock.now();
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** In the order of creation. */
  list(): readonly StoredApiToken[] {
    return [...this.#byName.values()];
  }

  /**
   * Makes a token; the returned text is the only copy of it.
   * @throws DatabaseError `IllegalArgument` for a name that is taken or refused, a moment in the past, too many tokens
   */
  create(given: NewApiToken): Promise<{ readonly token: string; readonly stored: StoredApiToken }> {
    const nameLengthMax = this.#nameLengthMax();
    requireName('Name of the API token', given.name, nameLengthMax);
    requireName('Database name', given.database, nameLengthMax);
    for (const type of given.permissions.types.keys())
      requireName('Type name', type, nameLengthMax);
    const createdAt = this.#clock.now();
    if (given.expiresAt !== 0 && given.expiresAt <= createdAt)
      throw new DatabaseError('IllegalArgument', `expiresAt ${given.expiresAt} is in the past`);
    return this.#change(async () => {
      if (this.#byName.has(given.name))
        throw new DatabaseError('IllegalArgument', `API token '${given.name}' already exists`);
      const countMax = this.#countMax();
      if (this.#byName.size >= countMax)
        throw new DatabaseError(
          'IllegalArgument',
          `there are ${this.#byName.size} API tokens, ${serverApiTokenMax.key} is ${countMax}`,
        );
      const token = apiTokenPrefix + Buffer.from(this.#random.bytes(32)).toString('hex');
      const stored: StoredApiToken = {
        ...given,
        createdAt,
        tokenHash: digestOfApiToken(token),
        tokenSuffix: token.slice(-4),
      };
      await this.#store([...this.#byName.values(), stored]);
      return { token, stored };
    });
  }

  /**
   * Deletes a token by its name or the hash of it.
   * @returns its name
   * @throws DatabaseError `RecordNotFound`
   */
  delete(which: { readonly name: string } | { readonly tokenHash: string }): Promise<string> {
    return this.#change(async () => {
      const stored =
        'name' in which
          ? this.#byName.get(which.name)
          : this.#byHash.get(which.tokenHash.toLowerCase());
      if (!stored) throw new DatabaseError('RecordNotFound', 'API token not found');
      await this.#store([...this.#byName.values()].filter((token) => token !== stored));
      return stored.name;
    });
  }

  async #store(tokens: readonly StoredApiToken[]): Promise<void> {
    await this.#file.write(formatApiTokens(tokens));
    this.#use(tokens);
  }

  #use(tokens: readonly StoredApiToken[]): void {
    const before = this.#byName;
    this.#byName = new Map(tokens.map((token) => [token.name, token]));
    this.#byHash = new Map(tokens.map((token) => [token.tokenHash, token]));
    for (const listener of this.#changed) listener();
    for (const { name, tokenHash } of before.values())
      if (this.#byName.get(name)?.tokenHash !== tokenHash)
        for (const listener of this.#revoked) listener(apiTokenPrincipalPrefix + name);
  }

  /** One change after the other, so that none is lost between reading and writing. */
  #change<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(run);
    this.#changes = done.catch(() => {});
    return done;
  }

  /** A broken or emptied file leaves the tokens as they were. */
  #reload(text: string): void {
    try {
      const { tokens, heldPlainTokens } = parseApiTokens(text);
      this.#use(tokens);
      if (heldPlainTokens) {
        this.#change(() => this.#store([...this.#byName.values()])).catch((error) => {
          this.#audit.report('CRITICAL', `${this.#file.path} cannot be written: ${String(error)}`);
        });
      }
      this.#audit.report('WARNING', `${this.#file.path} was changed on disk and taken over`);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      this.#audit.report('CRITICAL', `${this.#file.path} stays as it was: ${error.message}`);
    }
  }
}
