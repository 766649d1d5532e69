import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Asker, ServerOperations } from '#database/operations/server-operations.ts';
import type { ProgressEntry } from '#database/progress/progress-registry.ts';
import { startDoor } from './door-fixture.ts';

const entry = { counts: { parsed: 5, vertices: 3 }, percentage: -1 } as unknown as ProgressEntry;
const counts = {
  parsedRecords: 5,
  createdDocuments: 0,
  createdVertices: 3,
  createdEdges: 2,
  errors: 0,
  warnings: 0,
};

/** Operations that tell two steps and then end as the name of the database says. */
const scripted: Partial<ServerOperations> = {
  importNew: async (name: string, _about: unknown, { onProgress }: Asker) => {
    if (name === 'refused') throw new DatabaseError('Forbidden', 'not from there');
    onProgress?.(entry, 'fetching');
    if (name === 'broken') throw new DatabaseError('Validation', 'line 7 is wrong');
    onProgress?.(entry, 'reading csv');
    return counts;
  },
};

async function open(context: Parameters<typeof startDoor>[0]) {
  const door = await startDoor(context, {}, undefined, (parts) => {
    Object.assign(parts.operations, scripted);
  });
  const ask = (name: string, headers: Record<string, string> = { accept: 'text/event-stream' }) =>
    door.ask('POST', 'server', {
      body: { command: `import database ${name} file:///x.csv` },
      headers,
    });
  return { ask };
}

function eventsOf(text: string): Record<string, unknown>[] {
  assert.ok(text.endsWith('\n\n'));
  return text
    .trimEnd()
    .split('\n\n')
    .map((event) => {
      assert.match(event, /^data: \{.*\}$/);
      return JSON.parse(event.slice('data: '.length)) as Record<string, unknown>;
    });
}

test('an import tells its progress as events, the last one with the counts', async (context) => {
  const { ask } = await open(context);
  const { status, headers, text } = await ask('made');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/event-stream');
  assert.equal(headers['cache-control'], 'no-cache');
  assert.equal(headers['x-accel-buffering'], 'no');
  const events = eventsOf(text);
  assert.deepEqual(
    events.map(({ status: of }) => of),
    ['progress', 'progress', 'completed'],
  );
  assert.deepEqual(events[0], {
    status: 'progress',
    message: "Importing database 'made': fetching",
    parsed: 5,
    vertices: 3,
    percentage: -1,
  });
  assert.deepEqual(events.at(-1), {
    status: 'completed',
    message: "Database 'made' imported",
    result: 'ok',
    ...counts,
  });
});

test('a failure after the first event is an event, one before it an ordinary answer', async (context) => {
  const { ask } = await open(context);
  const broken = await ask('broken');
  assert.equal(broken.status, 200);
  assert.deepEqual(eventsOf(broken.text).at(-1), { status: 'error', message: 'line 7 is wrong' });
  const refused = await ask('refused');
  assert.deepEqual([refused.status, refused.headers['content-type']], [403, 'application/json']);
  assert.equal((await ask('school')).status, 400);
});

test('who does not ask for events gets one answer', async (context) => {
  const { ask } = await open(context);
  const { status, body } = await ask('made', {});
  assert.deepEqual([status, body], [200, { result: 'ok', ...counts }]);
});
