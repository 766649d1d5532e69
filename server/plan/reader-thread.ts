import { parentPort, workerData } from 'node:worker_threads';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { ResultStream, RowForm } from '#database/session.ts';
import { rowMessagesMax, type ThreadStart, type ToThread } from '#database/threads/messages.ts';
import { type RowBuffer, ThreadStatements } from '#database/threads/thread-statements.ts';
import { JsonWriter, NameCache } from '#http/answer/json-writer.ts';
import { JsonRowRenderer } from '#http/serializers/json-row-renderer.ts';
import { ColumnTemplates } from '#http/serializers/record.ts';
import { languageFrontends } from '#language/front-ends.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { ownMemoryBytes } from '#platform/container-memory.ts';
import { giveMemoryBack } from '#platform/memory-return.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { letOthersGoFirst } from '#platform/thread-priority.ts';

// The program of a reader thread: statements that only read, and the bytes of their rows (`database/threads/README.md`).

const names = new NameCache();
const templates = new ColumnTemplates();
const firstCapacity = 4 * 1024;
const nextCapacity = 72 * 1024;
/** As many as may be under way, and one that is written. */
const sparesMax = rowMessagesMax + 1;
const spares: Buffer[] = [];

function rowsOf(form: RowForm, stream: ResultStream, formats: TemporalFormats): RowBuffer {
  const writer = new JsonWriter(formats, 0, names);
  // A buffer of its own, not of the platform's pool: it is handed over as it is.
  writer.swap(Buffer.allocUnsafeSlow(firstCapacity));
  return {
    renderer: new JsonRowRenderer(writer, form, stream, templates),
    take: () => {
      const next = spares.pop() ?? Buffer.allocUnsafeSlow(nextCapacity);
      return writer.swap(next) as Uint8Array<ArrayBuffer>;
    },
  };
}

/** New memory for each message would be garbage of the main thread, which has little else to collect. */
function spent(memory: ArrayBuffer): void {
  if (memory.byteLength === nextCapacity && spares.length < sparesMax)
    spares.push(Buffer.from(memory));
}

if (parentPort !== null) {
  const port = parentPort;
  // The main thread answers everybody else.
  letOthersGoFirst();
  const statements = new ThreadStatements({
    start: workerData as ThreadStart,
    runtime: systemRuntime,
    languages: new LanguageRegistry(languageFrontends),
    processMemory: { usedBytes: ownMemoryBytes, giveBack: giveMemoryBack },
    rowsOf,
    spent,
    send: (messages, transferred) => port.postMessage(messages, transferred),
    end: () => port.close(),
  });
  port.on('message', (message: ToThread) => statements.take(message));
}
