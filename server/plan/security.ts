import type { Settings } from '#config/effective-settings.ts';
import {
  serverApiTokenMax,
  serverHttpAuthSessionAbsoluteTimeout,
  serverHttpAuthSessionExpireTimeout,
  serverHttpAuthSessionMax,
  serverHttpAuthSessionMaxPerUser,
  serverHttpIncomingPort,
  serverHttpsIncomingPort,
  serverName,
  serverReloadEvery,
  serverRootPassword,
  serverSaltIterations,
  serverSecurityHashQueueSize,
  serverSecurityLockoutAttempts,
  serverSecurityLockoutTime,
  serverSecuritySaltCacheSize,
  sslEnabled,
  sslKeyStore,
  sslKeyStorePassword,
  sslTrustStore,
  sslTrustStorePassword,
} from '#config/server-settings.ts';
import { maxNameLength } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { WorkerKeyDerivation } from '#platform/key-derivation.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { ApiTokens } from '#security/api-tokens.ts';
import type { Audit } from '#security/audit.ts';
import { Authenticator } from '#security/authenticator.ts';
import { GroupAuthorizer } from '#security/authorizer.ts';
import { ensureRoot } from '#security/first-start.ts';
import { Groups } from '#security/groups.ts';
import { LoginAttempts } from '#security/login-attempts.ts';
import type { TlsCredentials } from '#security/tls-credentials.ts';
import { TokenSessions } from '#security/token-sessions.ts';
import { Users } from '#security/users.ts';
import type { Ground } from './ground.ts';

export interface Security {
  readonly users: Users;
  readonly groups: Groups;
  readonly authorizer: GroupAuthorizer;
  readonly authenticator: Authenticator;
  readonly tokens: TokenSessions;
  readonly apiTokens: ApiTokens;
  readonly derivation: WorkerKeyDerivation;
  readonly tls: TlsCredentials | undefined;
}

export async function openSecurity(ground: Ground, mayPrompt: boolean): Promise<Security> {
  const { settings, paths, events } = ground;
  const { random, timers, clock } = systemRuntime;
  const audit: Audit = {
    report: (type, message, requestId) => events.report(type, 'Security', message, null, requestId),
  };
  const derivation = new WorkerKeyDerivation({
    queueLengthMax: () => settings.get(serverSecurityHashQueueSize),
    timers,
  });
  const iterations = () => settings.get(serverSaltIterations);
  const configDirectory = paths.config;
  const nameLengthMax = () => settings.get(maxNameLength);
  const common = { configDirectory, timers, audit, nameLengthMax };
  const users = new Users({ ...common, derivation, random, iterations });
  const groups = new Groups(common);
  const apiTokens = new ApiTokens({
    ...common,
    clock,
    random,
    countMax: () => settings.get(serverApiTokenMax),
  });
  await users.load();
  await groups.load();
  await apiTokens.load();
  await makeRoot(ground, users, mayPrompt);
  users.watch(settings.get(serverReloadEvery));
  groups.watch(settings.get(serverReloadEvery));
  apiTokens.watch(settings.get(serverReloadEvery));
  const tokens = openTokens(settings, users, audit);
  const attempts = new LoginAttempts(clock, {
    failuresMax: () => settings.get(serverSecurityLockoutAttempts),
    windowMs: () => settings.get(serverSecurityLockoutTime) * 1000,
  });
  const authenticator = new Authenticator({
    users,
    tokens,
    apiTokens,
    attempts,
    derivation,
    random,
    audit,
    cacheSize: () => settings.get(serverSecuritySaltCacheSize),
    iterations,
  });
  const authorizer = new GroupAuthorizer(users, groups, apiTokens);
  const tls = await openTls(settings, audit);
  return { users, groups, authorizer, authenticator, tokens, apiTokens, derivation, tls };
}

/** The certificate of the HTTPS door (contract 3, TLS). @throws DatabaseError `InvalidSetting` */
async function openTls(settings: Settings, audit: Audit): Promise<TlsCredentials | undefined> {
  if (!settings.get(sslEnabled)) return undefined;
  requireTlsSettings(settings);
  // Only here, because a server without TLS need not hold the code.
  const { TlsCredentials: Credentials } = await import('#security/tls-credentials.ts');
  const { readTrustedCertificates } = await import('#platform/tls-store.ts');
  const { clock, timers } = systemRuntime;
  const path = settings.get(sslKeyStore);
  const password = settings.get(sslKeyStorePassword);
  const store = { path, password, setting: sslKeyStore.key };
  const tls = new Credentials({ store, audit, clock, timers });
  await tls.load();
  if (settings.get(sslTrustStore) !== '')
    await readTrustedCertificates({
      path: settings.get(sslTrustStore),
      password: settings.get(sslTrustStorePassword),
      setting: sslTrustStore.key,
    });
  tls.watch(settings.get(serverReloadEvery));
  return tls;
}

function requireTlsSettings(settings: Settings): void {
  if (settings.get(sslKeyStore) === '')
    throw new DatabaseError(
      'InvalidSetting',
      `${sslEnabled.key}=true needs ${sslKeyStore.key}, the file with the private key and its certificates`,
    );
  const plain = settings.get(serverHttpIncomingPort);
  const secure = settings.get(serverHttpsIncomingPort);
  const isSamePort = plain.first === plain.last && plain.first === secure.first;
  if (isSamePort && plain.first !== 0 && secure.first === secure.last)
    throw new DatabaseError(
      'InvalidSetting',
      `${serverHttpsIncomingPort.key} and ${serverHttpIncomingPort.key} are both ${plain.first}; HTTPS needs a port of its own`,
    );
}

function openTokens(settings: Settings, users: Users, audit: Audit): TokenSessions {
  const { clock, random } = systemRuntime;
  return new TokenSessions({
    serverName: settings.get(serverName),
    users,
    clock,
    random,
    audit,
    limits: {
      idleMs: () => settings.get(serverHttpAuthSessionExpireTimeout) * 1000,
      absoluteMs: () => settings.get(serverHttpAuthSessionAbsoluteTimeout) * 1000,
      perUserMax: () => settings.get(serverHttpAuthSessionMaxPerUser),
      countMax: () => settings.get(serverHttpAuthSessionMax),
    },
  });
}

async function makeRoot(ground: Ground, users: Users, mayPrompt: boolean): Promise<void> {
  const { settings, paths } = ground;
  const prompt = async () => {
    const { promptPassword } = await import('#platform/prompt.ts');
    console.log('First start: user root has no password yet. Press Enter to have one made.');
    return promptPassword('Password of root: ');
  };
  const generated = await ensureRoot({
    users,
    settings,
    configDirectory: paths.config,
    random: systemRuntime.random,
    ...(mayPrompt ? { prompt } : undefined),
  });
  if (generated !== undefined) madeUpPassword = generated;
}

/** Shown once, when the port is known. */
let madeUpPassword: string | undefined;

/** The password that was made for root at the first start, once. */
export function takeMadeUpPassword(): string | undefined {
  const password = madeUpPassword;
  madeUpPassword = undefined;
  return password;
}

export async function closeSecurity(security: Security): Promise<void> {
  const { users, groups, apiTokens, tls, derivation } = security;
  users.close();
  groups.close();
  apiTokens.close();
  tls?.close();
  await derivation.close();
}

/** @throws DatabaseError `InvalidSetting` when the password that was given is not that of root */
export async function requireRootPassword({ settings }: Ground, { authenticator }: Security) {
  const credentials = Buffer.from(`root:${settings.get(serverRootPassword)}`).toString('base64');
  const { principal } = await authenticator.authenticate(`Basic ${credentials}`, {
    source: 'standard input',
  });
  if (principal === undefined)
    throw new DatabaseError(
      'InvalidSetting',
      `${serverRootPassword.key} is not the password of root`,
    );
}
