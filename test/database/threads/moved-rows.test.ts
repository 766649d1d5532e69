import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogIndex } from '#core/value/rid.ts';
import { MovedRows } from '#database/threads/moved-rows.ts';
import type { RowRenderer } from '#database/session.ts';

test('the memory of rows goes back to the thread once they are written, with the word that more are taken', async () => {
  const written: number[] = [];
  const renderer = { length: 0, append: (bytes: Uint8Array) => written.push(...bytes) };
  const spent: (ArrayBuffer | undefined)[] = [];
  const rows = new MovedRows({
    renderer: renderer as unknown as RowRenderer,
    rowCountMax: 100,
    check() {},
    taken: (memory) => spent.push(memory),
    stop() {},
  });
  const messages = [1, 2, 3].map((each) => new Uint8Array([each, each]));
  for (const bytes of messages)
    rows.add({ kind: 'rows', id: 1, bytes, rowCount: 1, pulledCount: 1, isLong: false });
  rows.end(3, 7 as LogIndex);
  while (await rows.pull()) rows.write({ bytes: 1_000, rows: 1_000 });
  assert.deepEqual(written, [1, 1, 2, 2, 3, 3]);
  // Nothing comes after the last one, so its memory stays.
  assert.deepEqual(spent, [undefined, messages[0]?.buffer, messages[1]?.buffer]);
});
