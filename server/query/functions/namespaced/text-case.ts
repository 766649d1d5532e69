/** Words of a text: runs of letters and digits, also split where a lower-case letter meets an upper-case one. */
export function wordsOf(text: string): string[] {
  const spaced = text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2');
  return spaced.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** `hello world` becomes `helloWorld`. */
export function camelCase(text: string): string {
  const joined = upperCamelCase(text);
  return decapitalize(joined);
}

/** `hello world` becomes `HelloWorld`. */
export function upperCamelCase(text: string): string {
  return wordsOf(text)
    .map((word) => capitalize(word.toLowerCase()))
    .join('');
}

/** `helloWorld` becomes `hello_world`. */
export function snakeCase(text: string): string {
  return wordsOf(text).join('_').toLowerCase();
}

/** `Héllo, World!` becomes `hello-world`: lower case, without diacritics, other characters as one separator. */
export function slug(text: string, separator: string): string {
  const plain = text.normalize('NFD').replace(/\p{M}+/gu, '');
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).join(separator).toLowerCase();
}

export function capitalize(text: string): string {
  const first = firstCharacter(text);
  return first.toUpperCase() + text.slice(first.length);
}

export function decapitalize(text: string): string {
  const first = firstCharacter(text);
  return first.toLowerCase() + text.slice(first.length);
}

/** Applies `change` to every run of characters that are no white space. */
export function eachWord(text: string, change: (word: string) => string): string {
  return text.replace(/\S+/g, change);
}

function firstCharacter(text: string): string {
  const code = text.codePointAt(0);
  return code === undefined ? '' : String.fromCodePoint(code);
}
