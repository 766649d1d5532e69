const secretLiteral =
  /\b(pass(?:word|wd|phrase)|secret|token|encryptionKey)(["'`]?\s*[:=]\s*|\s+(?:to\s+)?)("(?:[^"\\]|\\.|"")*"?|'(?:[^'\\]|\\.|'')*'?)/gi;
const userInfo = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@'"]{1,1000}@/gi;

/**
 * A statement or command as it may be shown to people and logged: literals that stand behind words such as `password` and
 * the user part of addresses are hidden. Cost linear in the text.
 */
export function maskSecrets(text: string): string {
  return text.replace(secretLiteral, '$1$2***').replace(userInfo, '$1***@');
}
