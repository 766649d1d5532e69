import type { Slices } from '#core/value/json-slices.ts';

/** Longer bodies are put together with pauses: a hundred megabytes take some 50 ms. */
const joinedAtOnceBytes = 512 * 1024;

/** The pieces of a body as one. They are let go of one by one. */
export async function joinedPieces(
  pieces: Uint8Array[],
  length: number,
  slices: Slices,
): Promise<Uint8Array> {
  // Not zeroed before, and not touched before it is written.
  const body = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (let place = 0; place < pieces.length; place += 1) {
    const piece = pieces[place] as Uint8Array;
    for (let from = 0; from < piece.length; from += joinedAtOnceBytes) {
      const part = piece.subarray(from, from + joinedAtOnceBytes);
      body.set(part, at);
      at += part.length;
      if (slices.isSpent) await slices.pause();
    }
    pieces[place] = noBytes;
  }
  return body;
}

const noBytes = new Uint8Array();

export function isJoinedAtOnce(length: number): boolean {
  return length <= joinedAtOnceBytes;
}
