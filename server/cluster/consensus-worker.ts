import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { systemRuntime } from '#platform/system-runtime.ts';
import { ConsensusService } from './consensus/consensus-service.ts';
import type { FromWorker, ToWorker, WorkerStart } from './consensus/worker-messages.ts';

/* The consensus worker: core, driver, transport and timers (ha.md 1.3). */

async function serve(start: WorkerStart): Promise<void> {
  const tell = (message: FromWorker) => parentPort?.postMessage(message);
  const early: ToWorker[] = [];
  let service: ConsensusService | undefined;
  parentPort?.on('message', (message: ToWorker) => {
    if (service === undefined) early.push(message);
    else service.handle(message);
  });
  try {
    service = await ConsensusService.start(start, systemRuntime, tell);
  } catch (error) {
    tell({ kind: 'broken', message: error instanceof Error ? error.message : String(error) });
    return;
  }
  tell({ kind: 'status', status: service.status() });
  for (const message of early) service.handle(message);
}

if (!isMainThread && (workerData as Partial<WorkerStart> | undefined)?.consensus !== undefined)
  await serve(workerData as WorkerStart);
