import { DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { isObject } from '../protocol/json-rpc.ts';
import { type ProfileName, profileNames } from './tool-names.ts';
import { isOriginEntry } from './origin.ts';

/** What a statement or tool may do; each is a flag of the configuration. */
export const flags = [
  'allowReads',
  'allowInsert',
  'allowUpdate',
  'allowDelete',
  'allowSchemaChange',
  'allowAdmin',
] as const;
export type Flag = (typeof flags)[number];

/** Of one database: `false` denies, `true` grants nothing that the server denies (contract 2, Authentication 2). */
export interface DatabaseOverride extends Partial<Readonly<Record<Flag, boolean>>> {
  readonly allowedUsers?: readonly string[];
}

/** `config/mcp-config.json` (contract 2; mcp.md 2.1). */
export interface Configuration extends Readonly<Record<Flag, boolean>> {
  readonly enabled: boolean;
  readonly profile: ProfileName;
  readonly principalProfiles: Readonly<Record<string, ProfileName>>;
  readonly allowedUsers: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly databases: Readonly<Record<string, DatabaseOverride>>;
}

export const defaultConfiguration: Configuration = {
  enabled: false,
  allowReads: true,
  allowInsert: false,
  allowUpdate: false,
  allowDelete: false,
  allowSchemaChange: false,
  allowAdmin: false,
  profile: 'all',
  principalProfiles: {},
  allowedUsers: ['root'],
  allowedOrigins: [],
  databases: {},
};

/**
 * The configuration with a partial update laid over it; everything is checked before the first field is taken (mcp.md 2.3).
 * @throws DatabaseError `IllegalArgument` that names the field
 */
export function withUpdate(now: Configuration, update: ValueMap): Configuration {
  const changed: Record<string, unknown> = { ...now };
  for (const [name, value] of update) {
    const take = Object.hasOwn(fields, name) ? fields[name as keyof Configuration] : undefined;
    if (take === undefined) throw wrong(`Unknown property '${name}'`);
    changed[name] = take(value, now, name);
  }
  return changed as unknown as Configuration;
}

type Take = (value: Value, now: Configuration, name: string) => unknown;

const fields: { readonly [Name in keyof Configuration]: Take } = {
  enabled: flagOf,
  allowReads: flagOf,
  allowInsert: flagOf,
  allowUpdate: flagOf,
  allowDelete: flagOf,
  allowSchemaChange: flagOf,
  allowAdmin: flagOf,
  profile: (value, _, name) => profileOf(value, name),
  principalProfiles: (value, now, name) =>
    merged(now.principalProfiles, value, name, (entry, key) => profileOf(entry, key)),
  allowedUsers: (value, _, name) => textsOf(value, name),
  allowedOrigins: (value, _, name) => originsOf(value, name),
  databases: (value, now, name) => merged(now.databases, value, name, overrideOf),
};

function flagOf(value: Value, _: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong(`Property '${name}' must be true or false`);
}

function profileOf(value: Value, name: string): ProfileName {
  const lower = typeof value === 'string' ? value.toLowerCase() : undefined;
  const known = profileNames.find((profile) => profile === lower);
  if (known !== undefined) return known;
  throw wrong(`Property '${name}' must be one of ${profileNames.join(', ')}`);
}

function textsOf(value: Value, name: string): readonly string[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw wrong(`Property '${name}' must be an array of strings`);
  return (value as readonly Value[]).map((entry) => {
    if (typeof entry === 'string' && entry.trim() !== '') return entry;
    throw wrong(`Property '${name}' must hold strings that are not blank`);
  });
}

function originsOf(value: Value, name: string): readonly string[] {
  const origins = textsOf(value, name);
  for (const origin of origins)
    if (!isOriginEntry(origin))
      throw wrong(`Property '${name}': '${origin}' is no origin such as https://host:8443, nor *`);
  return origins;
}

/** Entry by entry; null removes one, a null map all. */
function merged<T>(
  now: Readonly<Record<string, T>>,
  value: Value,
  name: string,
  take: (entry: Value, key: string) => T,
): Readonly<Record<string, T>> {
  if (value === null) return {};
  if (!isObject(value)) throw wrong(`Property '${name}' must be an object`);
  const entries = new Map(Object.entries(now));
  for (const [key, entry] of value) {
    if (entry === null) entries.delete(key);
    else entries.set(key, take(entry, `${name}.${key}`));
  }
  // Own properties whatever their names, `__proto__` too.
  return Object.fromEntries(entries);
}

function overrideOf(value: Value, name: string): DatabaseOverride {
  if (!isObject(value)) throw wrong(`Property '${name}' must be an object or null`);
  const override: Record<string, unknown> = {};
  for (const [key, entry] of value) {
    const full = `${name}.${key}`;
    if ((flags as readonly string[]).includes(key)) override[key] = flagOf(entry, undefined, full);
    else if (key === 'allowedUsers') override[key] = textsOf(entry, full);
    else throw wrong(`Unknown property '${full}'`);
  }
  return override as DatabaseOverride;
}

function wrong(message: string): DatabaseError {
  return new DatabaseError('IllegalArgument', message);
}
