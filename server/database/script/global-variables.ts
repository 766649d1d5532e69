import { DatabaseError } from '#core/errors.ts';
import { isMap, type Value } from '#core/value/value.ts';
import { ByteWriter } from '#storage/format/byte-writer.ts';
import { imageOf } from '#storage/format/bytes.ts';
import { encodeFormat, formatEntryName } from '#storage/format/features.ts';
import { ValueReader, writeValue } from '#storage/format/value-codec.ts';
import { bytesOfVariable } from './variables.ts';
import type { VariableScope } from '#query/evaluate/context.ts';

const countMax = 10_000;
/** Of all of them together, as they are counted in variables of scripts. */
const bytesMax = 64 * 1024 * 1024;

/** Of the value in `meta` of a database in a cluster that holds all of them: one map. */
export const globalsDocumentName = 'globals';

/** Stores a named value through the log. */
export type ShareVariables = (values: ReadonlyMap<string, Uint8Array>) => Promise<unknown>;

/**
 * `SET GLOBAL` variables of one database: in memory, for all sessions, until they are null or the database is closed. In a cluster
 * they travel through the log, so that all servers have the same ones, and are kept with the database.
 */
export class GlobalVariables implements VariableScope {
  readonly #values = new Map<string, Value>();
  #bytes = 0;
  /** Set in a cluster, before the first statement. */
  share: ShareVariables | undefined;

  /** `set`, on all servers. */
  async assign(name: string, value: Value): Promise<void> {
    const before = this.get(name);
    this.set(name, value);
    if (this.share === undefined) return;
    try {
      const out = new ByteWriter();
      writeValue(out, new Map(this.#values));
      const document = new Map<string, Uint8Array>([[globalsDocumentName, out.take()]]);
      if (out.hasExtendedValue) document.set(formatEntryName, encodeFormat(['extendedValues']));
      await this.share(document);
    } catch (error) {
      this.set(name, before);
      throw error;
    }
  }

  /** An entry of the log, or the database that is opened, has this document. */
  become(document: Uint8Array | undefined): void {
    this.#values.clear();
    this.#bytes = 0;
    if (document === undefined) return;
    const all = new ValueReader(imageOf(document), 0).value();
    if (isMap(all)) for (const [name, value] of all) this.set(name, value);
  }

  get(name: string): Value {
    return this.#values.get(name) ?? null;
  }

  /** @throws DatabaseError `TooLarge` above 10,000 variables or 64 MiB */
  set(name: string, value: Value): void {
    const before = this.#values.get(name);
    const freed = before === undefined ? 0 : bytesOfVariable(before);
    if (value === null) {
      this.#values.delete(name);
      this.#bytes -= freed;
      return;
    }
    const bytes = this.#bytes - freed + bytesOfVariable(value);
    if (bytes > bytesMax) {
      throw new DatabaseError(
        'TooLarge',
        `the global variables of a database hold at most ${bytesMax} bytes together`,
      );
    }
    if (this.#values.size >= countMax && !this.#values.has(name)) {
      throw new DatabaseError('TooLarge', `a database has at most ${countMax} global variables`);
    }
    this.#values.set(name, value);
    this.#bytes = bytes;
  }
}
