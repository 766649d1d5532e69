import type { SettingSpec } from './setting.ts';
import { allSettings, requireSetting } from './registry.ts';

/** What a reader of settings needs; rooms that only read take this. */
export interface SettingsReader {
  /** Cost: one map lookup. */
  get<T>(spec: SettingSpec<T>): T;
}

/** One line of `GET /server` and `get_server_settings`; texts of secrets are masked. */
export interface SettingReport {
  readonly key: string;
  readonly value: string;
  readonly description: string;
  readonly overridden: boolean;
  readonly default: string;
}

const mask = '*****';

/**
 * The values in force: those of the server, or those of one database above them (`forDatabase`). Values that nobody set
 * are the defaults. Server settings read through a database's object are the live ones of the server; database settings
 * keep what the server said when the database was opened (http-api.md 12, `set server setting`).
 */
export class Settings implements SettingsReader {
  readonly #values = new Map<SettingSpec<unknown>, unknown>();
  readonly #server: Settings | undefined;
  readonly #listeners: ((spec: SettingSpec<unknown>) => void)[] = [];

  /** @param texts initial texts by canonical key, already checked or about to be: throws like `set` */
  constructor(texts: ReadonlyMap<string, string> = new Map(), server?: Settings) {
    this.#server = server;
    if (server) {
      for (const [spec, value] of server.#values)
        if (spec.scope === 'database') this.#values.set(spec, value);
    }
    for (const [key, text] of texts) {
      const spec = requireSetting(key);
      this.#values.set(spec, spec.parse(text));
    }
  }

  /** The settings of a database whose own configuration is `own`. */
  forDatabase(own: ReadonlyMap<string, string>): Settings {
    return new Settings(own, this);
  }

  get<T>(spec: SettingSpec<T>): T {
    const own = this.#values.get(spec as SettingSpec<unknown>);
    if (own !== undefined) return own as T;
    if (this.#server && spec.scope === 'server') return this.#server.get(spec);
    return spec.default;
  }

  /** @throws DatabaseError `InvalidSetting`; nothing changes then */
  set<T>(spec: SettingSpec<T>, text: string): { readonly previous: T; readonly current: T } {
    const previous = this.get(spec);
    const current = spec.parse(text);
    this.#values.set(spec as SettingSpec<unknown>, current);
    for (const listener of this.#listeners) listener(spec as SettingSpec<unknown>);
    return { previous, current };
  }

  isOverridden(spec: SettingSpec<unknown>): boolean {
    return this.#values.has(spec);
  }

  /** Calls `listener` after each `set` on this object. */
  onChange(listener: (spec: SettingSpec<unknown>) => void): void {
    this.#listeners.push(listener);
  }

  /** All settings of one scope, sorted by key. */
  report(scope: 'server' | 'database'): readonly SettingReport[] {
    return allSettings
      .filter((spec) => spec.scope === scope)
      .map((spec) => ({
        key: spec.key,
        value: shownText(spec, this.get(spec)),
        description: spec.description,
        overridden: this.isOverridden(spec),
        default: shownText(spec, spec.default),
      }));
  }
}

function shownText<T>(spec: SettingSpec<T>, value: T): string {
  const text = spec.format(value);
  return spec.secret ? (spec.shown?.(text) ?? mask) : text;
}
