import { systemRuntime } from '#platform/system-runtime.ts';
import { mkdirSync } from 'node:fs';
import type { SnapshotMeta } from '#raft/message.ts';
import type { ConfState, Index } from '#raft/vocabulary.ts';
import type { FormationVote } from '../consensus/formation-vote.ts';
import { readTextIfThere, replaceFileNow } from './log-disk.ts';

/** Who the owner of a raft directory is (ha.md 3.2, 8.1). */
export interface Identity {
  readonly peerId: string;
  /** Made with the directory: a member that lost its disk comes back with another one. */
  readonly storageId: string;
  readonly clusterId: string | undefined;
  /** The configuration at which the log of the group begins; undefined: it belongs to none yet. */
  readonly firstConf: ConfState | undefined;
  /** Until it belongs to a group. */
  readonly formationVote?: FormationVote;
  /** The configuration names this storage (ha.md 8.2). */
  readonly admitted: boolean;
  /** It had a log that was lost: it joins its cluster and never forms one. */
  readonly mustJoin?: boolean;
  /** The group that this member was in before it went on alone, and those before that: files of the log name them. */
  readonly earlierClusterIds?: readonly string[];
  /** The last word of approval by which it did. */
  readonly recovered?: string;
  readonly format: number;
}

const format = 1;
const identityFile = 'identity.json';
const snapshotFile = 'snapshot.json';

/** @throws Error when the directory is another member's or of another format */
export function openIdentity(directory: string, peerId: string): Identity {
  mkdirSync(directory, { recursive: true });
  const text = readTextIfThere(directory, identityFile);
  if (text === undefined) {
    const fresh = {
      peerId,
      storageId: systemRuntime.random.uuid(),
      clusterId: undefined,
      firstConf: undefined,
      admitted: false,
      format,
    };
    writeIdentity(directory, fresh);
    return fresh;
  }
  const found = JSON.parse(text) as Identity;
  if (found.format !== format)
    throw new Error(`${directory} has format ${found.format}, known is ${format}`);
  if (found.peerId !== peerId)
    throw new Error(`${directory} belongs to the peer ${found.peerId}, this server is ${peerId}`);
  return found;
}

/** Whose directory it is; undefined: nobody's, as far as it can be read. */
export function peerIn(directory: string): string | undefined {
  try {
    const text = readTextIfThere(directory, identityFile);
    return text === undefined ? undefined : (JSON.parse(text) as Identity).peerId;
  } catch {
    return undefined;
  }
}

export function writeIdentity(directory: string, identity: Identity): void {
  replaceFileNow(directory, identityFile, JSON.stringify(identity));
}

/** Earlier builds wrote no index of the configuration: it counts from the snapshot on. */
type StoredMeta = Omit<SnapshotMeta, 'body' | 'confIndex'> & { confIndex?: Index; body: string };

export function readSnapshotMeta(directory: string): SnapshotMeta | undefined {
  const text = readTextIfThere(directory, snapshotFile);
  if (text === undefined) return undefined;
  const { body, confIndex, ...meta } = JSON.parse(text) as StoredMeta;
  return { ...meta, confIndex: confIndex ?? meta.index, body: Buffer.from(body, 'base64') };
}

export function writeSnapshotMeta(directory: string, meta: SnapshotMeta): void {
  const body = Buffer.from(meta.body).toString('base64');
  replaceFileNow(directory, snapshotFile, JSON.stringify({ ...meta, body }));
}
