import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import type { ValueMap } from '#core/value/value.ts';
import { readTextIfExists, replaceFile } from '#platform/files.ts';
import { isObject } from '../protocol/json-rpc.ts';
import { type Configuration, defaultConfiguration, withUpdate } from './configuration.ts';

/** The configuration in force and its file, `config/mcp-config.json`, which is replaced as a whole (mcp.md 2.1). */
export class ConfigurationFile {
  readonly #path: string;
  /** A process over standard input serves whatever the file says (contract 2, Stdio transport). */
  readonly #isAlwaysEnabled: boolean;
  #stored: Configuration = defaultConfiguration;
  /** Updates are made one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(configDirectory: string, options: { readonly isAlwaysEnabled: boolean }) {
    this.#path = join(configDirectory, 'mcp-config.json');
    this.#isAlwaysEnabled = options.isAlwaysEnabled;
  }

  get current(): Configuration {
    return this.#isAlwaysEnabled ? { ...this.#stored, enabled: true } : this.#stored;
  }

  /** Makes the file when there is none. @returns what is wrong with it; the tool server is disabled then */
  async load(): Promise<string | undefined> {
    try {
      const text = await readTextIfExists(this.#path);
      if (text === undefined) await this.#write(defaultConfiguration);
      else this.#stored = withUpdate(defaultConfiguration, objectIn(text));
      return undefined;
    } catch (error) {
      this.#stored = defaultConfiguration;
      const reason = error instanceof Error ? error.message : String(error);
      return `${this.#path}: ${reason}; the tool server is disabled`;
    }
  }

  /** In force with the next request, once it is on disk. @throws DatabaseError `IllegalArgument`; nothing changes then */
  async update(change: ValueMap): Promise<Configuration> {
    const run = this.#last.then(async () => {
      const changed = withUpdate(this.#stored, change);
      await this.#write(changed);
      this.#stored = changed;
      return changed;
    });
    this.#last = run.catch(() => {});
    return run;
  }

  async #write(configuration: Configuration): Promise<void> {
    await replaceFile(this.#path, `${JSON.stringify(configuration, undefined, 2)}\n`);
  }
}

function objectIn(text: string): ValueMap {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new DatabaseError('IllegalArgument', 'the file holds no JSON object');
}
