import type { Condition, Message, MessageType, SnapshotMeta } from '#raft/message.ts';
import { messageOf } from '#raft/message.ts';
import type { ConfState, Entry, EntryKind } from '#raft/vocabulary.ts';
import { ProtoError, ProtoReader, ProtoWriter } from './protobuf.ts';

/** What travels on the streams `Control` and `Bulk` (ha.md 4.1). */
export interface Envelope {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly fromPeer: string;
  readonly fromStorage: string;
  readonly toPeer: string;
  /** The storage that the sender believes in; empty: it knows none. */
  readonly toStorage: string;
  readonly messages: readonly Message[];
}

const protocol = 1;

/** In the order of the numbers on the wire. */
const types: readonly MessageType[] = [
  'PreVote',
  'PreVoteResp',
  'Vote',
  'VoteResp',
  'Append',
  'AppendResp',
  'Heartbeat',
  'HeartbeatResp',
  'Snapshot',
  'TimeoutNow',
  'ReadIndex',
  'ReadIndexResp',
  'Transfer',
];
const conditions: readonly Condition[] = ['none', 'log-failed', 'needs-snapshot', 'not-admitted'];
const kinds: readonly EntryKind[] = ['normal', 'conf', 'noop'];

export function encodeEnvelope(envelope: Envelope): Buffer {
  const writer = new ProtoWriter()
    .text(1, envelope.clusterId)
    .text(2, envelope.clusterName)
    .text(3, envelope.fromPeer)
    .text(4, envelope.fromStorage)
    .text(5, envelope.toPeer)
    .text(6, envelope.toStorage)
    .integer(7, protocol);
  for (const message of envelope.messages) writer.message(9, encodeMessage(message));
  return writer.finish();
}

/** @throws ProtoError */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  const texts = ['', '', '', '', '', '', ''];
  const parts: Uint8Array[] = [];
  const reader = new ProtoReader(bytes);
  while (reader.next()) {
    if (reader.field <= 6) texts[reader.field] = reader.text();
    else if (reader.field === 9) parts.push(reader.bytes());
    else reader.skip();
  }
  const [, clusterId, clusterName, fromPeer, fromStorage, toPeer, toStorage] = texts as string[];
  return {
    clusterId: clusterId ?? '',
    clusterName: clusterName ?? '',
    fromPeer: fromPeer ?? '',
    fromStorage: fromStorage ?? '',
    toPeer: toPeer ?? '',
    toStorage: toStorage ?? '',
    messages: parts.map((part) => decodeMessage(part, fromPeer ?? '', toPeer ?? '')),
  };
}

function encodeMessage(message: Message): Buffer {
  const writer = new ProtoWriter()
    .integer(1, types.indexOf(message.type))
    .integer(2, message.term)
    .integer(3, message.index)
    .integer(4, message.logTerm)
    .integer(5, message.commit)
    .flag(6, message.reject)
    .integer(7, message.rejectHint)
    .integer(8, message.hintTerm);
  for (const entry of message.entries) writer.message(9, encodeEntry(entry));
  if (message.context > 0) writer.bytes(10, Buffer.from(String(message.context)));
  writer.flag(11, message.transfer).flag(12, message.emptyLog);
  if (message.snapshot !== undefined) writer.message(13, encodeSnapshot(message.snapshot));
  return writer.integer(16, conditions.indexOf(message.condition)).finish();
}

type Fields = { -readonly [Key in keyof Message]?: Message[Key] };

function decodeMessage(bytes: Uint8Array, from: string, to: string): Message {
  const fields: Fields = {};
  const entries: Entry[] = [];
  let type: MessageType | undefined = types[0];
  const reader = new ProtoReader(bytes);
  while (reader.next()) {
    if (reader.field === 1) type = types[reader.integer()];
    else if (reader.field === 9) entries.push(decodeEntry(reader.bytes()));
    else readField(reader, fields);
  }
  if (type === undefined) throw new ProtoError('the type of a message is unknown');
  return messageOf(type, from, to, { ...fields, entries });
}

function readField(reader: ProtoReader, fields: Fields): void {
  switch (reader.field) {
    case 2:
      fields.term = reader.integer();
      return;
    case 3:
      fields.index = reader.integer();
      return;
    case 4:
      fields.logTerm = reader.integer();
      return;
    case 5:
      fields.commit = reader.integer();
      return;
    case 6:
      fields.reject = reader.flag();
      return;
    case 7:
      fields.rejectHint = reader.integer();
      return;
    case 8:
      fields.hintTerm = reader.integer();
      return;
    case 10:
      fields.context = contextOf(reader.text());
      return;
    case 11:
      fields.transfer = reader.flag();
      return;
    case 12:
      fields.emptyLog = reader.flag();
      return;
    case 13:
      fields.snapshot = decodeSnapshot(reader.bytes());
      return;
    case 16:
      fields.condition = conditions[reader.integer()] ?? 'none';
      return;
    default:
      reader.skip();
  }
}

function contextOf(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new ProtoError('a context is no number');
  return value;
}

function encodeEntry({ index, term, kind, data }: Entry): Buffer {
  return new ProtoWriter()
    .integer(1, index)
    .integer(2, term)
    .integer(3, kinds.indexOf(kind))
    .bytes(4, data)
    .finish();
}

function decodeEntry(bytes: Uint8Array): Entry {
  let [index, term, kind] = [0, 0, 0];
  let data: Uint8Array = new Uint8Array(0);
  const reader = new ProtoReader(bytes);
  while (reader.next()) {
    if (reader.field === 1) index = reader.integer();
    else if (reader.field === 2) term = reader.integer();
    else if (reader.field === 3) kind = reader.integer();
    // A copy: the message it came in may be large and would live as long as the entry.
    else if (reader.field === 4) data = Uint8Array.from(reader.bytes());
    else reader.skip();
  }
  const named = kinds[kind];
  if (named === undefined) throw new ProtoError('the kind of an entry is unknown');
  return { index, term, kind: named, data };
}

function encodeSnapshot({ index, term, conf, body }: SnapshotMeta): Buffer {
  return new ProtoWriter()
    .integer(1, index)
    .integer(2, term)
    .text(3, JSON.stringify(conf))
    .bytes(4, body)
    .finish();
}

function decodeSnapshot(bytes: Uint8Array): SnapshotMeta {
  let [index, term] = [0, 0];
  let conf = '';
  let body: Uint8Array = new Uint8Array(0);
  const reader = new ProtoReader(bytes);
  while (reader.next()) {
    if (reader.field === 1) index = reader.integer();
    else if (reader.field === 2) term = reader.integer();
    else if (reader.field === 3) conf = reader.text();
    else if (reader.field === 4) body = Uint8Array.from(reader.bytes());
    else reader.skip();
  }
  return { index, term, conf: parsed(conf), body };
}

function parsed(text: string): ConfState {
  try {
    return JSON.parse(text) as ConfState;
  } catch {
    throw new ProtoError('a configuration is no JSON');
  }
}
