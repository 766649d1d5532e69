/** Flags `--name=value` of a command, by name; a flag may be repeated. */
export interface Flags {
  /** The last value, or undefined. */
  one(name: string): string | undefined;
  all(name: string): readonly string[];
}

/** @throws Error that names an unknown flag */
export function parseFlags(words: readonly string[], known: readonly string[]): Flags {
  const found = new Map<string, string[]>();
  for (const word of words) {
    const [, name = '', value = ''] = /^--([a-z-]+)=(.*)$/s.exec(word) ?? [];
    if (!known.includes(name))
      throw new Error(
        `unknown argument '${word}'; known: ${known.map((flag) => `--${flag}=`).join(' ')}`,
      );
    found.set(name, [...(found.get(name) ?? []), value]);
  }
  return {
    one: (name) => found.get(name)?.at(-1),
    all: (name) => found.get(name) ?? [],
  };
}
