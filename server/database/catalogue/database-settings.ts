import { DatabaseError } from '#core/errors.ts';
import type { Settings } from '#config/effective-settings.ts';
import { findSetting, requireSetting } from '#config/registry.ts';
import type { Log } from '#core/log.ts';
import { readStatementLimits, type StatementLimits } from '../bounds/statement-limits.ts';

/** Name of the document in `meta`: a JSON object of canonical keys and texts. */
export const settingsDocumentName = 'settings';

const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder() };

/**
 * The settings of one database: its own ones, which are kept in the database and stand above every other source, over those
 * of the server.
 */
export class DatabaseSettings {
  readonly values: Settings;
  readonly #own: Map<string, string>;
  readonly #log: Log;
  #limits: StatementLimits | undefined;

  /**
   * @param document what `encoded` gave; undefined for a database without settings of its own
   * Settings that this version does not know or accept are logged and left alone.
   */
  constructor(server: Settings, document: Uint8Array | undefined, log: Log) {
    this.#log = log;
    this.#own = acceptable(document, log);
    this.values = server.forDatabase(this.#own);
    this.values.onChange(() => {
      this.#limits = undefined;
    });
  }

  /** What every statement reads, in one lookup. */
  get limits(): StatementLimits {
    this.#limits ??= readStatementLimits(this.values);
    return this.#limits;
  }

  /**
   * The document that holds the setting with its new text; it takes effect with `set`.
   * @throws DatabaseError `InvalidSetting` for an unknown key, a server's setting or a text that it does not take
   */
  encodedWith(key: string, text: string): Uint8Array {
    const spec = requireSetting(key);
    if (spec.scope !== 'database') {
      throw new DatabaseError('InvalidSetting', `${spec.key} is a setting of the server`);
    }
    spec.parse(text);
    return utf8.encoder.encode(
      JSON.stringify(Object.fromEntries(new Map(this.#own).set(spec.key, text))),
    );
  }

  /** @throws DatabaseError `InvalidSetting` for an unknown key */
  textOf(key: string): string {
    const spec = requireSetting(key);
    return spec.format(this.values.get(spec));
  }

  /** Another server has changed them: these are all of them now. */
  become(document: Uint8Array | undefined): void {
    for (const [key, text] of acceptable(document, this.#log)) {
      if (this.#own.get(key) !== text) this.set(key, text);
    }
  }

  set(key: string, text: string): { readonly previous: string; readonly current: string } {
    const spec = requireSetting(key);
    const { previous, current } = this.values.set(spec, text);
    this.#own.set(spec.key, text);
    return { previous: spec.format(previous), current: spec.format(current) };
  }
}

function acceptable(document: Uint8Array | undefined, log: Log): Map<string, string> {
  const own = new Map<string, string>();
  if (document === undefined) return own;
  const stored: unknown = JSON.parse(utf8.decoder.decode(document));
  if (typeof stored !== 'object' || stored === null) return own;
  for (const [key, text] of Object.entries(stored)) {
    const spec = findSetting(key);
    try {
      if (spec === undefined || typeof text !== 'string') throw new Error('unknown');
      spec.parse(text);
      own.set(spec.key, text);
    } catch {
      log.warn('a setting of the database is not accepted', { setting: key });
    }
  }
  return own;
}
