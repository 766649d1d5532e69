import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { AnswerSink } from '#http/answer/answer-sink.ts';
import type { Exchange } from '#http/answer/exchange.ts';
import { JsonWriter, NameCache } from '#http/answer/json-writer.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

/** An answer to a client that takes everything at once, by a clock of which each look is a millisecond. */
function quickClient(highWaterMark: number) {
  let now = 0;
  let turns = 0;
  let taken = '';
  const response = Object.assign(
    new Writable({
      highWaterMark,
      write: (piece: Buffer, _, done) => {
        taken += piece.toString();
        done();
      },
    }),
    { writeHead: () => response },
  );
  const exchange = {
    response,
    connection: {},
    headersOf: () => [],
    door: {
      settings: { get: () => 60_000 },
      runtime: {
        ...systemRuntime,
        clock: { ...systemRuntime.clock, monotonicMs: () => (now += 1) },
        timers: {
          ...systemRuntime.timers,
          yield: async () => {
            turns += 1;
          },
        },
      },
    },
  } as unknown as Exchange;
  const sink = new AnswerSink(exchange, [], undefined);
  return { sink, turns: () => turns, taken: () => taken };
}

for (const highWaterMark of [1, 1 << 30])
  test(`others have turns beside a client that takes everything at once (${highWaterMark})`, async () => {
    const { sink, turns, taken } = quickClient(highWaterMark);
    const texts = Array.from({ length: 100 }, (_, at) => `text ${at} `);
    await sink.sendLine(texts);
    assert.equal(taken(), texts.join(''));
    const ofLine = turns();
    assert(ofLine >= 10 && ofLine < 100, `${ofLine} turns`);
    const writer = new JsonWriter(
      { dateFormat: '', dateTimeFormat: '' } as never,
      64,
      new NameCache(),
    );
    for (let at = 0; at < 100; at += 1) {
      writer.ascii('x');
      await sink.send(writer);
    }
    assert(turns() - ofLine >= 10, `${turns() - ofLine} turns`);
  });

test('nothing is written amid a line', async () => {
  const { sink, taken } = quickClient(1 << 30);
  const texts = function* () {
    yield 'a';
    sink.writeNothing();
    yield 'b\n';
  };
  await sink.sendLine(texts());
  sink.writeNothing();
  assert.equal(taken(), 'ab\n\n');
});
