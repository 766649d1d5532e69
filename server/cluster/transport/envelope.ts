import type { Condition, Message, MessageType, SnapshotMeta } from '#raft/message.ts';
import { messageOf } from '#raft/message.ts';
import type { ConfState, Entry, EntryKind } from '#raft/vocabulary.ts';
import { fieldBytes, integerBytes, ProtoError, ProtoReader, ProtoWriter } from './protobuf.ts';

export interface EnvelopeNames {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly fromPeer: string;
  readonly fromStorage: string;
  readonly toPeer: string;
  /** The storage that the sender believes in; empty: it knows none. */
  readonly toStorage: string;
}

/** What travels on the streams `Control` and `Bulk` (ha.md 4.1). */
export interface Envelope extends EnvelopeNames {
  readonly messages: readonly Message[];
}

const protocol = 1;
/** Of field 9 with a length. */
const messageKey = 9 * 8 + 2;
/** Of an entry without its data, and of a message without entries: what is set aside for them. */
const entryHeadBytesMax = 40;
const messageBytes = 128;
const nothing = new Uint8Array(0);

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

/** Names of both sides as bytes: they are the same for all envelopes of a stream. */
export function encodeNames(names: EnvelopeNames): Buffer {
  return new ProtoWriter()
    .text(1, names.clusterId)
    .text(2, names.clusterName)
    .text(3, names.fromPeer)
    .text(4, names.fromStorage)
    .text(5, names.toPeer)
    .text(6, names.toStorage)
    .integer(7, protocol)
    .finish();
}

export function encodeEnvelope(
  names: EnvelopeNames | Buffer,
  messages: readonly Message[],
): Buffer {
  const head = Buffer.isBuffer(names) ? names : encodeNames(names);
  let dataBytes = 0;
  for (const { entries } of messages)
    for (const { data } of entries) dataBytes += data.length + entryHeadBytesMax;
  const writer = new ProtoWriter(head.length + messages.length * messageBytes + dataBytes);
  writer.raw(head);
  for (const message of messages) writeMessage(writer, message);
  return writer.finish();
}

/** The names that the envelopes of one stream begin with: the same bytes are read once. */
export class EnvelopeReader {
  #head: Buffer = Buffer.alloc(0);
  #names: EnvelopeNames | undefined;

  /** @throws ProtoError */
  read(bytes: Buffer): Envelope {
    const known = this.#head;
    const isKnown =
      this.#names !== undefined &&
      known.length > 0 &&
      bytes.length > known.length &&
      bytes[known.length] === messageKey &&
      bytes.compare(known, 0, known.length, 0, known.length) === 0;
    if (!isKnown) this.#readNames(bytes);
    const names = this.#names as EnvelopeNames;
    // A copy of its own: what it came in may be larger and would live as long as the entries.
    const own = Buffer.from(Uint8Array.prototype.slice.call(bytes, this.#head.length).buffer);
    const messages: Message[] = [];
    const reader = new ProtoReader(own);
    while (reader.next()) {
      if (reader.field === 9) messages.push(decodeMessage(reader, names.fromPeer, names.toPeer));
      else reader.skip();
    }
    return { ...names, messages };
  }

  #readNames(bytes: Buffer): void {
    const texts = ['', '', '', '', '', '', ''];
    const reader = new ProtoReader(bytes);
    let end = 0;
    let hasMessages = false;
    while (reader.next()) {
      if (reader.field <= 6) texts[reader.field] = reader.text();
      else reader.skip();
      if (reader.field === 9) hasMessages = true;
      // Names may stand behind messages: then nothing of it can be kept.
      else end = hasMessages ? 0 : reader.at;
    }
    const [, clusterId, clusterName, fromPeer, fromStorage, toPeer, toStorage] = texts as string[];
    this.#names = {
      clusterId: clusterId ?? '',
      clusterName: clusterName ?? '',
      fromPeer: fromPeer ?? '',
      fromStorage: fromStorage ?? '',
      toPeer: toPeer ?? '',
      toStorage: toStorage ?? '',
    };
    this.#head = Buffer.from(bytes.subarray(0, end));
  }
}

function writeMessage(writer: ProtoWriter, message: Message): void {
  const context = message.context > 0 ? Buffer.from(String(message.context)) : nothing;
  const snapshot = message.snapshot === undefined ? nothing : encodeSnapshot(message.snapshot);
  const type = types.indexOf(message.type);
  const condition = conditions.indexOf(message.condition);
  let length =
    integerBytes(1, type) +
    integerBytes(2, message.term) +
    integerBytes(3, message.index) +
    integerBytes(4, message.logTerm) +
    integerBytes(5, message.commit) +
    integerBytes(6, Number(message.reject)) +
    integerBytes(7, message.rejectHint) +
    integerBytes(8, message.hintTerm) +
    fieldBytes(10, context.length) +
    integerBytes(11, Number(message.transfer)) +
    integerBytes(12, Number(message.emptyLog)) +
    fieldBytes(13, snapshot.length) +
    integerBytes(16, condition);
  for (const entry of message.entries) length += fieldBytes(9, entryBytes(entry));
  writer
    .begin(9, length)
    .integer(1, type)
    .integer(2, message.term)
    .integer(3, message.index)
    .integer(4, message.logTerm)
    .integer(5, message.commit)
    .flag(6, message.reject)
    .integer(7, message.rejectHint)
    .integer(8, message.hintTerm);
  for (const entry of message.entries) writeEntry(writer, entry);
  writer
    .bytes(10, context)
    .flag(11, message.transfer)
    .flag(12, message.emptyLog)
    .bytes(13, snapshot)
    .integer(16, condition);
}

type Fields = { -readonly [Key in keyof Message]?: Message[Key] };

function decodeMessage(reader: ProtoReader, from: string, to: string): Message {
  const entries: Entry[] = [];
  const fields: Fields = { entries };
  let type: MessageType | undefined = types[0];
  const outerEnd = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) type = types[reader.integer()];
    else if (reader.field === 9) entries.push(decodeEntry(reader));
    else readField(reader, fields);
  }
  reader.leave(outerEnd);
  if (type === undefined) throw new ProtoError('the type of a message is unknown');
  return messageOf(type, from, to, fields);
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

function entryBytes({ index, term, kind, data }: Entry): number {
  return (
    integerBytes(1, index) +
    integerBytes(2, term) +
    integerBytes(3, kinds.indexOf(kind)) +
    fieldBytes(4, data.length)
  );
}

function writeEntry(writer: ProtoWriter, entry: Entry): void {
  const { index, term, kind, data } = entry;
  writer
    .begin(9, entryBytes(entry))
    .integer(1, index)
    .integer(2, term)
    .integer(3, kinds.indexOf(kind))
    .bytes(4, data);
}

function decodeEntry(reader: ProtoReader): Entry {
  let [index, term, kind] = [0, 0, 0];
  let data: Uint8Array = nothing;
  const outerEnd = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) index = reader.integer();
    else if (reader.field === 2) term = reader.integer();
    else if (reader.field === 3) kind = reader.integer();
    else if (reader.field === 4) data = reader.bytes();
    else reader.skip();
  }
  reader.leave(outerEnd);
  const named = kinds[kind];
  if (named === undefined) throw new ProtoError('the kind of an entry is unknown');
  return { index, term, kind: named, data };
}

/** Field 5 is the index of the configuration and one; none: it comes from an earlier build, and counts from the snapshot on. */
function encodeSnapshot({ index, term, conf, confIndex, body }: SnapshotMeta): Buffer {
  return new ProtoWriter()
    .integer(1, index)
    .integer(2, term)
    .text(3, JSON.stringify(conf))
    .bytes(4, body)
    .integer(5, confIndex + 1)
    .finish();
}

function decodeSnapshot(bytes: Uint8Array): SnapshotMeta {
  let [index, term, confNumber] = [0, 0, 0];
  let conf = '';
  let body: Uint8Array = new Uint8Array(0);
  const reader = new ProtoReader(bytes);
  while (reader.next()) {
    if (reader.field === 1) index = reader.integer();
    else if (reader.field === 2) term = reader.integer();
    else if (reader.field === 3) conf = reader.text();
    else if (reader.field === 4) body = Uint8Array.from(reader.bytes());
    else if (reader.field === 5) confNumber = reader.integer();
    else reader.skip();
  }
  const confIndex = confNumber > 0 ? confNumber - 1 : index;
  return { index, term, conf: parsed(conf), confIndex, body };
}

function parsed(text: string): ConfState {
  try {
    return JSON.parse(text) as ConfState;
  } catch {
    throw new ProtoError('a configuration is no JSON');
  }
}
