import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value.ts';
import type { VariableScope } from '#query/evaluate/context.ts';

const countMax = 10_000;

/** `SET GLOBAL` variables of one database: in memory, for all sessions, until they are null or the database is closed. */
export class GlobalVariables implements VariableScope {
  readonly #values = new Map<string, Value>();

  get(name: string): Value {
    return this.#values.get(name) ?? null;
  }

  /** @throws DatabaseError `TooLarge` above 10,000 variables */
  set(name: string, value: Value): void {
    if (value === null) {
      this.#values.delete(name);
      return;
    }
    if (this.#values.size >= countMax && !this.#values.has(name)) {
      throw new DatabaseError('TooLarge', `a database has at most ${countMax} global variables`);
    }
    this.#values.set(name, value);
  }
}
