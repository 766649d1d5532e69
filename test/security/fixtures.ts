import { pbkdf2Sync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Clock, Random, Timers } from '#core/runtime.ts';
import type { KeyDerivation } from '#platform/key-derivation.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { ApiTokens } from '#security/api-tokens.ts';
import type { Audit } from '#security/audit.ts';
import { Users } from '#security/users.ts';

/** Derives in place with one iteration, so that tests do not wait. */
export const quickDerivation: KeyDerivation & { count: number } = {
  count: 0,
  derive(password, salt) {
    this.count += 1;
    return Promise.resolve(pbkdf2Sync(password, salt, 1, 32, 'sha256'));
  },
  close: () => Promise.resolve(),
};

/** Timers that never fire: files are looked at by `poll()`. */
export const stoppedTimers: Timers = {
  after: () => () => {},
  sleep: () => Promise.resolve(),
  yield: () => Promise.resolve(),
};

export const random: Random = systemRuntime.random;

export class ManualClock implements Clock {
  ms = 1_786_370_000_000;
  now(): number {
    return this.ms;
  }
  monotonicMs(): number {
    return this.ms;
  }
}

export class RecordedAudit implements Audit {
  readonly lines: string[] = [];
  report(type: string, message: string): void {
    this.lines.push(`${type} ${message}`);
  }
}

/** A directory that vanishes with the test. */
export function temporaryDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-security-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export interface UsersFixture {
  readonly users: Users;
  readonly audit: RecordedAudit;
  readonly directory: string;
}

export async function usersWithRoot(context: TestContext): Promise<UsersFixture> {
  const directory = temporaryDirectory(context);
  const audit = new RecordedAudit();
  const users = makeUsers(directory, audit);
  await users.load();
  await users.create('root', { password: 'rootpassword', databases: new Map([['*', ['admin']]]) });
  return { users, audit, directory };
}

/** API tokens over a file in the directory; not loaded yet. */
export function makeApiTokens(
  configDirectory: string,
  given: { audit?: Audit; clock?: Clock; countMax?: number } = {},
): ApiTokens {
  return new ApiTokens({
    configDirectory,
    timers: stoppedTimers,
    clock: given.clock ?? new ManualClock(),
    random,
    audit: given.audit ?? new RecordedAudit(),
    countMax: () => given.countMax ?? 10,
  });
}

export function makeUsers(configDirectory: string, audit: Audit): Users {
  return new Users({
    configDirectory,
    derivation: quickDerivation,
    random,
    timers: stoppedTimers,
    audit,
    iterations: () => 1000,
  });
}
