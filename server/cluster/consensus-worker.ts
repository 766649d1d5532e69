import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { systemRuntime } from '#platform/system-runtime.ts';
import { ConsensusService } from './consensus/consensus-service.ts';
import {
  type FromWorker,
  outboxDelayMs,
  type ToWorker,
  type WorkerStart,
} from './consensus/worker-messages.ts';
import { Outbox } from './outbox.ts';

/* The consensus worker: core, driver, transport and timers (ha.md 1.3). */

async function serve(start: WorkerStart): Promise<void> {
  const outbox = new Outbox<FromWorker>(
    (messages, transferred) => parentPort?.postMessage(messages, transferred),
    systemRuntime.timers,
    outboxDelayMs,
  );
  const early: ToWorker[] = [];
  let service: ConsensusService | undefined;
  parentPort?.on('message', (messages: readonly ToWorker[]) => {
    if (service === undefined) early.push(...messages);
    else for (const message of messages) service.handle(message);
  });
  try {
    service = await ConsensusService.start(start, systemRuntime, outbox);
  } catch (error) {
    outbox.post({
      kind: 'broken',
      message: error instanceof Error ? error.message : String(error),
    });
    return;
  }
  outbox.post({ kind: 'status', status: service.status() });
  for (const message of early) service.handle(message);
}

if (!isMainThread && (workerData as Partial<WorkerStart> | undefined)?.consensus !== undefined)
  await serve(workerData as WorkerStart);
