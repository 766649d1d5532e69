import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import { bytesOfVariable } from './variables.ts';
import type { VariableScope } from '#query/evaluate/context.ts';

const countMax = 10_000;
/** Of all of them together, as they are counted in variables of scripts. */
const bytesMax = 64 * 1024 * 1024;

/** `SET GLOBAL` variables of one database: in memory, for all sessions, until they are null or the database is closed. */
export class GlobalVariables implements VariableScope {
  readonly #values = new Map<string, Value>();
  #bytes = 0;

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
