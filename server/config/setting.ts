import { DatabaseError } from '#core/errors.ts';
import { parseCount, parseSize, sizeText } from './units.ts';

/** Keys are reported with this prefix; it may be left out everywhere. */
export const settingPrefix = 'service.';

/**
 * One setting: its name, where it holds, what texts it takes and what it is without one. Specs are made once, by
 * `settings.ts`, and serve as the key of `Settings.get`.
 */
export interface SettingSpec<T> {
  /** Canonical spelling, with the prefix. */
  readonly key: string;
  readonly scope: 'server' | 'database';
  readonly default: T;
  readonly description: string;
  /** `live`: read at each use. `restart`: read when the server (or the database) starts. */
  readonly reload: 'live' | 'restart';
  /** Printed as `*****`, or as `shown` makes it. */
  readonly secret: boolean;
  /** A secret text without its secrets. */
  readonly shown: ((text: string) => string) | undefined;
  /** A wrong value at start ends the process instead of falling back to the default (http-api.md 21.1). */
  readonly fatal: boolean;
  /** @throws DatabaseError `InvalidSetting` naming key, value and what is allowed */
  readonly parse: (text: string) => T;
  /** The text of a value, as `parse` takes it. */
  format(value: T): string;
}

interface Common {
  readonly description: string;
  readonly scope?: 'server' | 'database';
  readonly reload?: 'live' | 'restart';
  readonly secret?: boolean;
  readonly shown?: (text: string) => string;
  readonly fatal?: boolean;
}

/** A setting of any type, with everything said; the functions below cover the usual types. */
export function defineSetting<T>(
  name: string,
  options: Common & {
    readonly default: T;
    readonly parse: (text: string) => T;
    readonly format?: (value: T) => string;
  },
): SettingSpec<T> {
  return {
    key: settingPrefix + name,
    scope: options.scope ?? 'server',
    default: options.default,
    description: options.description,
    reload: options.reload ?? 'live',
    secret: options.secret ?? false,
    shown: options.shown,
    fatal: options.fatal ?? false,
    parse: options.parse,
    format: options.format ?? ((value) => String(value)),
  };
}

/** The refusal of a value, in one form for all settings. */
export function invalidSetting(name: string, text: string, allowed: string): DatabaseError {
  return new DatabaseError(
    'InvalidSetting',
    `${settingPrefix}${name} is '${text}'; it must be ${allowed}`,
  );
}

/** Free text; `''` means not set. */
export function textSetting(
  name: string,
  options: Common & { readonly default?: string },
): SettingSpec<string> {
  return defineSetting(name, { ...options, default: options.default ?? '', parse: (text) => text });
}

/** `true` or `false`, nothing else. */
export function booleanSetting(
  name: string,
  options: Common & { readonly default: boolean },
): SettingSpec<boolean> {
  return defineSetting(name, {
    ...options,
    parse: (text) => {
      const word = text.trim().toLowerCase();
      if (word === 'true') return true;
      if (word === 'false') return false;
      throw invalidSetting(name, text, "'true' or 'false'");
    },
  });
}

interface Bounds {
  readonly default: number;
  readonly min?: number;
  readonly max?: number;
}

/** An integer; its unit is part of the description. */
export function integerSetting(name: string, options: Common & Bounds): SettingSpec<number> {
  return defineSetting(name, { ...options, parse: boundedParser(name, parseCount, options) });
}

/** A number of bytes; takes `10MB`, `2GB` (powers of 1,024) and plain numbers. */
export function sizeSetting(name: string, options: Common & Bounds): SettingSpec<number> {
  return defineSetting(name, {
    ...options,
    parse: boundedParser(name, parseSize, options),
    format: (value) => String(value),
    description: `${options.description} (bytes, ${sizeText(options.default)})`,
  });
}

/** One of a few words, compared without case and kept in the listed spelling. */
export function choiceSetting<const T extends string>(
  name: string,
  options: Common & { readonly default: NoInfer<T>; readonly choices: readonly T[] },
): SettingSpec<T> {
  return defineSetting<T>(name, {
    ...options,
    parse: (text) => {
      const word = text.trim().toLowerCase();
      const found = options.choices.find((choice) => choice.toLowerCase() === word);
      if (found !== undefined) return found;
      throw invalidSetting(name, text, `one of ${options.choices.join(', ')}`);
    },
  });
}

function boundedParser(
  name: string,
  parse: (text: string) => number | undefined,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds,
): (text: string) => number {
  return (text) => {
    const value = parse(text.trim());
    if (value !== undefined && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw invalidSetting(name, text, `a whole number ${range}`);
  };
}
