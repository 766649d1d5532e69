import { hash } from 'node:crypto';
import type { Random } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';

/*
 * Ids of transaction sessions tell who owns them (ha.md 6.4): the first four bytes of the UUID (version 8) are a digest of the
 * owner's peer id, so that each server can send a request on without state that they share.
 */

/** `AS-<uuid>` of a session that begins on `owner`. */
export function sessionIdOf(owner: PeerId, random: Random): string {
  const bytes = Buffer.from(random.bytes(16));
  digestOf(owner).copy(bytes, 0, 0, 4);
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const text = bytes.toString('hex');
  const parts = [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20)];
  return `AS-${parts.join('-')}-${text.slice(20)}`;
}

const shape = /^AS-([0-9a-f]{8})-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The server among `peers` that began the session; undefined when the id is none of theirs. */
export function ownerOf(sessionId: string, peers: Iterable<PeerId>): PeerId | undefined {
  const digest = shape.exec(sessionId)?.[1]?.toLowerCase();
  if (digest === undefined) return undefined;
  for (const peer of peers) if (digestOf(peer).toString('hex', 0, 4) === digest) return peer;
  return undefined;
}

function digestOf(peer: PeerId): Buffer {
  return hash('sha256', peer, 'buffer');
}
