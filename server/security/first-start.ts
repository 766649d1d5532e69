import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { DatabaseError } from '#core/errors.ts';
import type { Random } from '#core/runtime.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import {
  haK8s,
  serverMode,
  serverRootPassword,
  serverRootPasswordPath,
} from '#config/server-settings.ts';
import { removeFile, replaceFile } from '#platform/files.ts';
import { requirePassword, rootName } from './credential-policy.ts';
import type { Users } from './users.ts';

export interface FirstStart {
  readonly users: Users;
  readonly settings: SettingsReader;
  readonly configDirectory: string;
  readonly random: Random;
  /** Asks a person; resolves to '' for "make one up". */
  readonly prompt?: () => Promise<string>;
}

/**
 * Makes root at the first start (house decision 44); does nothing when there is one.
 * @returns the password if it was made up and must be shown
 * @throws DatabaseError `InvalidSetting` when there is no password to be had, or a wrong one
 */
export async function ensureRoot(given: FirstStart): Promise<string | undefined> {
  const { users, configDirectory } = given;
  const keptPasswordPath = join(configDirectory, 'root-password');
  users.onRevoked((name) => {
    // Failing to delete it does no harm: the password in it is no longer valid.
    if (name === rootName) removeFile(keptPasswordPath).catch(() => {});
  });
  if (users.get(rootName)) return undefined;
  const configured = await configuredPassword(given.settings);
  if (configured === undefined && users.list().length > 0)
    throw new DatabaseError(
      'InvalidSetting',
      'server-users.jsonl holds users but no root; set service.server.rootPassword to make one',
    );
  const password = configured ?? (await given.prompt?.()) ?? '';
  if (password !== '') {
    await createRoot(users, password);
    return undefined;
  }
  refuseMadeUpPassword(given.settings);
  const generated = generatePassword(given.random);
  await replaceFile(keptPasswordPath, `${generated}\n`);
  await createRoot(users, generated);
  return generated;
}

async function createRoot(users: Users, password: string): Promise<void> {
  try {
    requirePassword(password);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new DatabaseError(
      'InvalidSetting',
      `the password of root (${serverRootPassword.key}, ${serverRootPasswordPath.key}) is refused: ${error.message}`,
    );
  }
  await users.create(rootName, { password, databases: new Map([['*', ['admin']]]) });
}

async function configuredPassword(settings: SettingsReader): Promise<string | undefined> {
  const password = settings.get(serverRootPassword);
  if (password !== '') return password;
  const path = settings.get(serverRootPasswordPath);
  if (path === '') return undefined;
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw new DatabaseError(
      'InvalidSetting',
      `${serverRootPasswordPath.key}: '${path}' cannot be read`,
      { cause },
    );
  }
}

function refuseMadeUpPassword(settings: SettingsReader): void {
  if (settings.get(serverMode) !== 'production' && !settings.get(haK8s)) return;
  throw new DatabaseError(
    'InvalidSetting',
    `there is no root password: set ${serverRootPassword.key} or ${serverRootPasswordPath.key}`,
  );
}

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const generatedLength = 24;

/** Letters and digits without those that look alike, each with the same chance. */
function generatePassword(random: Random): string {
  let password = '';
  while (password.length < generatedLength) {
    const word = random.uint32();
    const bound = 2 ** 32 - (2 ** 32 % alphabet.length);
    if (word < bound) password += alphabet[word % alphabet.length];
  }
  return password;
}
