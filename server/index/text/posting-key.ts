// Entries of a full-text index. For each field of a record that has terms
//   01 field u8, 00, number of terms u32 big-endian           (lengths, from which the average is known)
// and for each term of it
//   02 term as UTF-8, 00, field u8, frequency and number of terms of the field as varints.
// So all postings of a term lie together, with what scoring needs, and follow from the row alone. What ends with the first zero byte
// is the group of an entry in chunks (`storage/format/entry-chunk.ts`). Indexes made before there were chunks do without the zero byte
// before a length.

export const lengthTag = 0x01;
export const termTag = 0x02;

const utf8 = new TextEncoder();

/** @param isChunked the index is one in chunks */
export function lengthKey(field: number, length: number, isChunked: boolean): Uint8Array {
  const key = new Uint8Array(isChunked ? 7 : 6);
  const at = key.length - 4;
  key[0] = lengthTag;
  key[1] = field;
  key[at] = length >>> 24;
  key[at + 1] = length >>> 16;
  key[at + 2] = length >>> 8;
  key[at + 3] = length;
  return key;
}

export function termKey(
  term: string,
  field: number,
  frequency: number,
  length: number,
): Uint8Array {
  const units = term.length;
  let textBytes = 0;
  while (textBytes < units && term.charCodeAt(textBytes) < 0x80) textBytes += 1;
  const isPlain = textBytes === units;
  if (!isPlain) textBytes = Buffer.byteLength(term);
  // No Buffer: what copies keys about meets one kind of array then, and takes a third of the time.
  const key = new Uint8Array(textBytes + 3 + varintSize(frequency) + varintSize(length));
  key[0] = termTag;
  if (isPlain) for (let i = 0; i < units; i += 1) key[i + 1] = term.charCodeAt(i);
  else utf8.encodeInto(term, key.subarray(1));
  key[textBytes + 1] = 0;
  key[textBytes + 2] = field;
  const at = putVarint(key, textBytes + 3, frequency);
  putVarint(key, at, length);
  return key;
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

function putVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 0x80;
  bytes[at++] = rest;
  return at;
}
