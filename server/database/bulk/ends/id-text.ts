import { hashOf } from './id-table.ts';

/** An id among the bytes of a line: where it stands and what finds it. There is one for each place of a line, for all lines. */
export class IdText {
  start = 0;
  /** Below `start` when the line has no such id. */
  end = -1;
  /** Behind the prefix of numbered ids; -1 when the id is none of them, or nobody has looked. */
  number = -1;
  /** Of ids without a number. */
  hash = 0;
}

/** All of these bytes as an id. */
export function hashedId(bytes: Uint8Array): IdText {
  const id = new IdText();
  id.end = bytes.length;
  id.hash = hashOf(bytes, 0, bytes.length);
  return id;
}
