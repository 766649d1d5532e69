import {
  type MessagePort,
  isMainThread,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Entry } from '#raft/vocabulary.ts';
import {
  type LogAnswer,
  type LogProgress,
  type LogRequest,
  type NumberedRequest,
  type OpenedLog,
  type PackedAppend,
  unpackAppend,
} from './log-store/log-requests.ts';
import { type Answer, LogService } from './log-store/log-service.ts';
import { packEntries } from './packed-entries.ts';

/*
 * The log worker: blocking calls of the log, away from every event loop (ha.md 1.3). Whatever waits is taken at once, so that
 * many appends are one flush.
 */

/** @param port where the consensus worker asks */
function serve(port: MessagePort): void {
  const service = new LogService();
  let isUpkeepDue = false;
  const upkeep = () => {
    isUpkeepDue = service.upkeep();
    if (isUpkeepDue) void systemRuntime.timers.yield().then(upkeep);
  };
  port.on('message', (first: NumberedRequest) => {
    const batch = [first];
    for (
      let more = receiveMessageOnPort(port);
      more !== undefined;
      more = receiveMessageOnPort(port)
    )
      batch.push(more.message as NumberedRequest);
    const requests = batch.map(requestOf);
    const ids = batch.map(idOf);
    const answers: LogAnswer[] = [];
    service.handle(requests, (i, done) => answers.push(answerOf(ids[i] ?? 0, done)));
    if (answers.every(saysNothing)) port.postMessage(progressOf(answers));
    else
      port.postMessage(
        answers,
        answers.flatMap(({ entries }) => entries?.buffer ?? []),
      );
    if (requests.at(-1)?.kind === 'close') port.close();
    else if (!isUpkeepDue) upkeep();
  });
}

function requestOf(numbered: NumberedRequest): LogRequest {
  return isPacked(numbered) ? { kind: 'append', job: unpackAppend(numbered) } : numbered.request;
}

function isPacked(numbered: NumberedRequest): numbered is PackedAppend {
  return Array.isArray(numbered);
}

function idOf(numbered: NumberedRequest): number {
  return isPacked(numbered) ? numbered[0] : numbered.id;
}

function answerOf(id: number, done: Answer): LogAnswer {
  const { flushMs } = done;
  if ('value' in done) {
    const { value } = done;
    if (isEntries(value)) return { id, flushMs, entries: packEntries(value) };
    return { id, flushMs, value };
  }
  const { message, code, index } = done.error;
  return { id, flushMs, error: { message, code, index } };
}

function isEntries(value: OpenedLog | readonly Entry[] | undefined): value is readonly Entry[] {
  return Array.isArray(value);
}

function saysNothing({ value, entries, error }: LogAnswer): boolean {
  return value === undefined && entries === undefined && error === undefined;
}

/** The common case, in numbers: an object costs either side more than the rest of the message. */
function progressOf(answers: readonly LogAnswer[]): LogProgress {
  const flushes = new Set<number>();
  for (const { flushMs } of answers) if (flushMs !== undefined) flushes.add(flushMs);
  return [answers.at(-1)?.id ?? 0, ...flushes];
}

if (!isMainThread && (workerData as { logPort?: MessagePort } | undefined)?.logPort !== undefined)
  serve((workerData as { logPort: MessagePort }).logPort);
