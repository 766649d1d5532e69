import { didYouMean } from '#catalog/name-rules.ts';
import { allSettings, findSetting } from '#config/registry.ts';
import type { SettingSpec } from '#config/setting.ts';
import { DatabaseError } from '#core/errors.ts';
import { isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';

/** A setting of databases that was probably meant. */
function settingHint(key: string): { help?: string } {
  const bare = (name: string): string => name.replace(/^service\./u, '');
  const known = allSettings
    .filter(({ scope }) => scope === 'database')
    .map((spec) => bare(spec.key));
  const help = didYouMean(bare(key), known);
  return help === undefined ? {} : { help };
}

/** The settings of one database, as ALTER DATABASE changes them. */
export interface ChangeableSettings {
  get(spec: SettingSpec<unknown>): unknown;
  /** Persists and applies it. @throws DatabaseError `InvalidSetting` */
  change(key: string, text: string): Promise<unknown>;
}

/**
 * ALTER DATABASE (sql.md 13.13): one setting of the database, stored with it and in force at once.
 * @throws DatabaseError `IllegalArgument` for an unknown key, `InvalidSetting` for a value that the setting does not take
 */
export async function alterDatabase(
  work: Extract<Maintenance, { kind: 'alter-database' }>,
  settings: ChangeableSettings,
): Promise<readonly ValueMap[]> {
  const spec = findSetting(work.key);
  if (spec === undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `Database setting '${work.key}' not found`,
      settingHint(work.key),
    );
  if (spec.scope !== 'database')
    throw new DatabaseError(
      'IllegalArgument',
      `Database setting '${work.key}' not found: it is a setting of the server`,
    );
  const oldValue = shown(spec, settings.get(spec));
  await settings.change(spec.key, textOfSetting(work.key, work.value));
  const newValue = shown(spec, settings.get(spec));
  const row: ValueMap = new Map<string, Value>([
    ['operation', 'alter database'],
    ['attribute', spec.key],
    ['oldValue', oldValue],
    ['newValue', newValue],
  ]);
  return [row];
}

/** Numbers, booleans and texts as they are; what else a setting may be as its text, secrets masked. */
function shown(spec: SettingSpec<unknown>, value: unknown): Value {
  if (spec.secret) return '*****';
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string')
    return value;
  return spec.format(value);
}

function textOfSetting(key: string, value: Value): string {
  if (value === null || isList(value) || isMap(value))
    throw new DatabaseError(
      'IllegalArgument',
      `Database setting '${key}' takes a text, a number or a boolean`,
    );
  return String(value);
}
