/**
 * Bytes as a text whose characters are the bytes, 0 to 255: what the key-value language holds keys and values in. Such a text
 * is one byte a character in memory, holds any bytes, and two of them are equal where the bytes are.
 */
export type ByteText = string;

const beyondAscii = /[\u0080-\uffff]/;

// Methods of node's buffers that their published types leave out.
type LatinBuffer = Buffer & { latin1Slice(start?: number, end?: number): string };

/** The UTF-8 bytes of a text. */
export function byteTextOf(text: string): ByteText {
  return beyondAscii.test(text) ? (Buffer.from(text, 'utf8') as LatinBuffer).latin1Slice() : text;
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What the bytes say in UTF-8; undefined where they are no UTF-8. */
export function textOfBytes(bytes: ByteText): string | undefined {
  if (!beyondAscii.test(bytes)) return bytes;
  try {
    return strict.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

/** As `textOfBytes`; what is no UTF-8 is shown as U+FFFD. */
export function shownBytes(bytes: ByteText): string {
  return beyondAscii.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}
