import { parentPort } from 'node:worker_threads';
import { graphOptions, listWidth, VectorGraph } from './graph.ts';
import type { LinkRequest, LinkReport } from './graph-linker.ts';
import { SlotBlock } from './slot-block.ts';
import { newSpace, vectorForm } from './space.ts';

// Links the slots of blocks that the main thread fills. It looks at its messages between portions.

const slotsPerPortion = 32;

interface Job {
  readonly block: SlotBlock;
  readonly graph: VectorGraph;
  until: number;
}

const jobs = new Map<number, Job>();
let isRunning = false;

parentPort?.on('message', (request: LinkRequest) => {
  if (request.kind === 'stop') jobs.delete(request.id);
  else if (request.kind === 'until') {
    const job = jobs.get(request.id);
    if (job !== undefined) job.until = request.until;
  } else jobs.set(request.id, jobOf(request));
  if (!isRunning) linkPortion();
});

function jobOf({ shared, settings, until }: LinkRequest & { kind: 'begin' }): Job {
  const options = graphOptions(settings);
  const block = new SlotBlock({ ...vectorForm(settings), width: listWidth(options) }, shared, 1);
  return { block, graph: new VectorGraph(block, newSpace(block, settings), options), until };
}

/** A few slots of each block, then the next messages. */
function linkPortion(): void {
  isRunning = jobs.size > 0;
  if (!isRunning) return;
  for (const [id, { block, graph, until }] of jobs) {
    block.refresh();
    const end = Math.min(until, graph.count + slotsPerPortion);
    while (graph.count < end) graph.linkNext();
    if (end < until) continue;
    jobs.delete(id);
    parentPort?.postMessage({ id } satisfies LinkReport);
  }
  setImmediate(linkPortion);
}
