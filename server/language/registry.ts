import { DatabaseError } from '#core/errors.ts';
import type { LanguageFrontend } from './frontend.ts';

/** A front end whose syntax tree type does not matter to the caller. */
export type AnyFrontend = LanguageFrontend<unknown>;

/**
 * The languages of this server by name and alias, letter case ignored.
 */
export class LanguageRegistry {
  readonly #frontends = new Map<string, AnyFrontend>();
  readonly #names: string[] = [];

  constructor(frontends: readonly AnyFrontend[]) {
    for (const frontend of frontends) {
      this.#names.push(frontend.name);
      for (const name of [frontend.name, ...frontend.aliases])
        this.#frontends.set(name.toLowerCase(), frontend);
    }
  }

  /** Names without aliases, in the order of registration. */
  names(): readonly string[] {
    return this.#names;
  }

  has(name: string): boolean {
    return this.#frontends.has(name.toLowerCase());
  }

  /** @throws DatabaseError `IllegalArgument` naming the languages there are */
  frontend(name: string): AnyFrontend {
    const frontend = this.#frontends.get(name.toLowerCase());
    if (frontend) return frontend;
    throw new DatabaseError(
      'IllegalArgument',
      `language '${name}' is not available; available: ${this.#names.join(', ')}`,
    );
  }
}
