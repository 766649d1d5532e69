import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type EnvelopeNames, encodeEnvelope, EnvelopeReader } from '#cluster/transport/envelope.ts';
import { packAppend, unpackAppend } from '#cluster/log-store/log-requests.ts';
import { EntryReader, packEntries, unpackEntries } from '#cluster/packed-entries.ts';
import { ProtoError } from '#cluster/transport/protobuf.ts';
import { messageOf } from '#raft/message.ts';
import type { Entry } from '#raft/vocabulary.ts';

const whole = fc.oneof(fc.nat(300), fc.nat({ max: 2 ** 40 }), fc.constant(Number.MAX_SAFE_INTEGER));
const entries = fc
  .array(
    fc.record({
      term: whole,
      kind: fc.constantFrom('normal' as const, 'conf' as const, 'noop' as const),
      data: fc.uint8Array({ maxLength: 300 }),
    }),
    { maxLength: 20 },
  )
  .map((list) => list.map((entry, i): Entry => ({ index: 7 + i, ...entry })));
const names: EnvelopeNames = {
  clusterId: '5f0c9f7e-6d0e-4d57-9a8e-2f6f4e3c1b11',
  clusterName: 'täst',
  fromPeer: 'a_1',
  fromStorage: 's',
  toPeer: 'b_2',
  toStorage: '',
};

function plain(list: readonly Entry[]): object[] {
  return list.map((entry) => ({ ...entry, data: [...entry.data] }));
}

test('what one member writes another one reads, name by name and entry by entry', () => {
  const message = fc.record({
    type: fc.constantFrom('Append' as const, 'AppendResp' as const, 'Heartbeat' as const),
    fields: fc.record({ term: whole, index: whole, logTerm: whole, commit: whole, entries }),
    reject: fc.boolean(),
    context: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), (list) => {
      const messages = list.map(({ type, fields, reject, context }) =>
        messageOf(type, names.fromPeer, names.toPeer, { ...fields, reject, context }),
      );
      const reader = new EnvelopeReader();
      const others = { ...names, clusterId: 'another' };
      // Twice with the same names: those of the second one are not read again.
      for (const sent of [names, names, others, names]) {
        const read = reader.read(encodeEnvelope(sent, messages));
        const { messages: found, ...foundNames } = read;
        assert.deepEqual(foundNames, sent);
        assert.deepEqual(
          found.map((one) => ({ ...one, entries: plain(one.entries) })),
          messages.map((one) => ({ ...one, entries: plain(one.entries) })),
        );
      }
    }),
    { numRuns: 200 },
  );
});

test('names that stand behind messages are read for every envelope', () => {
  const message = messageOf('Heartbeat', names.fromPeer, names.toPeer, { term: 3 });
  const head = encodeEnvelope(names, []);
  const reader = new EnvelopeReader();
  for (const fromPeer of ['a_1', 'c_3']) {
    const body = encodeEnvelope({ ...names, fromPeer }, [message]);
    const own = encodeEnvelope({ ...names, fromPeer }, []);
    const turned = Buffer.concat([body.subarray(own.length), own]);
    assert.equal(reader.read(turned).fromPeer, fromPeer);
  }
  assert.equal(reader.read(Buffer.concat([head])).fromPeer, 'a_1');
});

test('what is longer than the message that it stands in is refused, although more bytes follow', () => {
  const entry = { index: 1, term: 1, kind: 'normal', data: new Uint8Array(9) } as const;
  const sent = [messageOf('Append', names.fromPeer, names.toPeer, { term: 1, entries: [entry] })];
  const head = encodeEnvelope(names, []).length;
  const whole = Buffer.concat([encodeEnvelope(names, sent), encodeEnvelope(names, sent)]);
  const read = (at: number, byte: number) => {
    const bytes = Buffer.from(whole);
    bytes[at] = byte;
    return new EnvelopeReader().read(bytes).messages;
  };
  const keyOf = (text: string) => whole.indexOf(Buffer.from(text, 'hex'), head);
  // Of an entry in a message, of its data, and the last byte of its term.
  assert.throws(() => read(keyOf('4a0f') + 1, 0x14), /longer than its message/);
  assert.throws(() => read(keyOf('2209') + 1, 0x0a), /longer than its message/);
  assert.throws(() => read(keyOf('4a0f') + 1, 0x03), ProtoError);
  assert.equal(read(head, whole[head] ?? 0).length, 2);
});

test('entries cross a border between threads as they are', () => {
  fc.assert(
    fc.property(entries, (list) => {
      const { first, count, buffer } = packEntries(list);
      assert.deepEqual(plain(unpackEntries({ first, count, buffer })), plain(list));
      const reader = new EntryReader({ first, count, buffer });
      const pieces: Entry[] = [];
      for (let turn = 1; !reader.isDone; turn += 1) pieces.push(...reader.take(turn % 3 || 1));
      assert.deepEqual(plain(pieces), plain(list), 'a few at a time');
    }),
    { numRuns: 200 },
  );
});

test('a snapshot tells the index of its configuration; one of an earlier build counts from itself on', () => {
  const conf = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  const read = (confIndex: number) => {
    const snapshot = { index: 40, term: 3, conf, confIndex, body: Uint8Array.of(1, 2) };
    const message = messageOf('Snapshot', names.fromPeer, names.toPeer, { snapshot });
    const envelope = encodeEnvelope(names, [message]);
    return new EnvelopeReader().read(envelope).messages[0]?.snapshot;
  };
  for (const confIndex of [0, 1, 7, 40]) {
    const found = read(confIndex);
    assert.deepEqual(
      [found?.index, found?.term, found?.conf, found?.confIndex, [...(found?.body ?? [])]],
      [40, 3, conf, confIndex, [1, 2]],
    );
  }
  // Zero is written as nothing, which is what an earlier build wrote.
  assert.equal(read(-1)?.confIndex, 40);
});

test('a write crosses it as it is, with and without entries and a vote', () => {
  const hardState = fc.record({
    term: whole,
    vote: fc.option(fc.string(), { nil: null }),
    commit: whole,
  });
  const job = fc.record({
    entries,
    hardState: fc.option(hardState, { nil: undefined }),
    mustSync: fc.boolean(),
  });
  fc.assert(
    fc.property(job, (written) => {
      const sent = structuredClone(packAppend(5, written));
      assert.equal(sent[0], 5);
      const read = unpackAppend(sent);
      assert.deepEqual(
        { ...read, entries: plain(read.entries) },
        { ...structuredClone(written), entries: plain(written.entries) },
      );
    }),
    { numRuns: 100 },
  );
});
