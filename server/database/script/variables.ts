import { isRecord, type Value } from '#core/value/value.ts';
import { byteEstimateOf } from '#query/evaluate/turns/value-size.ts';
import type { MemoryAccount, VariableScope } from '#query/evaluate/context.ts';

/** What a variable is counted with beside its value, and what a record in one is taken for. */
const variableBytes = 64;
const recordBytes = 256;

/**
 * The variables of a running script (sql.md 17.3). Blocks have scopes: an assignment changes the variable where it was first
 * assigned, or makes one in the innermost block. One that was set to null keeps its place and reads as the global of its name.
 */
export class ScriptVariables implements VariableScope {
  readonly #globals: VariableScope;
  readonly #memory: MemoryAccount;
  #scopes: Map<string, Value>[] = [new Map()];

  constructor(globals: VariableScope, memory: MemoryAccount) {
    this.#globals = globals;
    this.#memory = memory;
  }

  get(name: string): Value {
    for (let at = this.#scopes.length - 1; at >= 0; at -= 1) {
      const value = this.#scopes[at]?.get(name);
      if (value !== undefined && value !== null) return value;
    }
    return this.#globals.get(name);
  }

  /** @throws DatabaseError `TooLarge` when all values together are too large */
  assign(name: string, value: Value): void {
    let scope = this.#scopes[this.#scopes.length - 1] as Map<string, Value>;
    for (const outer of this.#scopes) if (outer.has(name)) scope = outer;
    const before = scope.get(name);
    this.#memory.reserve(bytesOfVariable(value));
    if (before !== undefined) this.#memory.release(bytesOfVariable(before));
    scope.set(name, value);
  }

  enterBlock(): void {
    this.#scopes.push(new Map());
  }

  leaveBlock(): void {
    const scope = this.#scopes.pop();
    if (scope !== undefined && scope.size > 0) this.#account(scope, 'release');
  }

  /** @returns puts all variables back as they are now; values are not copied, they never change */
  savepoint(): () => void {
    const saved = this.#scopes.map((scope) => new Map(scope));
    return () => {
      for (const scope of this.#scopes) this.#account(scope, 'release');
      this.#scopes = saved.map((scope) => new Map(scope));
      for (const scope of this.#scopes) this.#account(scope, 'reserve');
    };
  }

  #account(scope: ReadonlyMap<string, Value>, how: 'reserve' | 'release'): void {
    for (const value of scope.values()) this.#memory[how](bytesOfVariable(value));
  }
}

/** What a variable is counted with, in bytes. */
export function bytesOfVariable(value: Value): number {
  if (typeof value === 'number' || value === null) return variableBytes;
  return variableBytes + (isRecord(value) ? recordBytes : byteEstimateOf(value));
}
