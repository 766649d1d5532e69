import { parentPort, receiveMessageOnPort } from 'node:worker_threads';
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

parentPort?.on('message', (request: LinkRequest) => {
  take(request);
  while (jobs.size > 0) {
    linkPortion();
    for (let next = nextMessage(); next !== undefined; next = nextMessage()) take(next);
  }
});

function nextMessage(): LinkRequest | undefined {
  return parentPort === null ? undefined : receiveMessageOnPort(parentPort)?.message;
}

function take(request: LinkRequest): void {
  if (request.kind === 'stop') jobs.delete(request.id);
  else if (request.kind === 'until') {
    const job = jobs.get(request.id);
    if (job !== undefined) job.until = request.until;
  } else jobs.set(request.id, jobOf(request));
}

function jobOf({ shared, settings, until }: LinkRequest & { kind: 'begin' }): Job {
  const options = graphOptions(settings);
  const block = new SlotBlock({ ...vectorForm(settings), width: listWidth(options) }, shared, 1);
  return { block, graph: new VectorGraph(block, newSpace(block, settings), options), until };
}

/** A few slots of each block. */
function linkPortion(): void {
  for (const [id, { block, graph, until }] of jobs) {
    block.refresh();
    const end = Math.min(until, graph.count + slotsPerPortion);
    while (graph.count < end) graph.linkNext();
    if (end < until) continue;
    jobs.delete(id);
    parentPort?.postMessage({ id } satisfies LinkReport);
  }
}
