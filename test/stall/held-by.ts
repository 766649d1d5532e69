import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

/*
 * Which step of the work held a turn: samples of the processor between its begin and its end. The way from the event loop into the
 * work is followed for as long as one function has most of what its caller has. What the collector had is told beside it: it marks
 * while the work allocates, up to 5 ms for each 64 KiB, and its observer is not told of that, so it counts as the turn's own.
 */

type Node = Profiler.ProfileNode;

/** The way is followed while one callee has at least this share of its caller's samples. */
const shareMin = 0.6;
/** Where the way ends, callees with this share are told. */
const partShareMin = 0.15;
/** The last functions of the way that are told. */
const toldMax = 5;
const everyMicroseconds = 250;

export class HeldBy {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
  }

  async begin(): Promise<void> {
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.setSamplingInterval', { interval: everyMicroseconds });
    await this.#session.post('Profiler.start');
  }

  /** Ends what `begin` began. @param span on the clock of `performance.now` */
  async end(span: { readonly startMs: number; readonly endMs: number }): Promise<string> {
    const { profile } = await this.#session.post('Profiler.stop');
    return wayInto(profile, span);
  }
}

function wayInto(
  { nodes, samples = [], timeDeltas = [], startTime }: Profiler.Profile,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
): string {
  // The profiler has the clock of `process.hrtime`.
  const zeroMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  const own = new Map<number, number>();
  let atMs = startTime / 1000 - zeroMs;
  let sampleCount = 0;
  for (const [at, node] of samples.entries()) {
    atMs += (timeDeltas[at] ?? 0) / 1000;
    if (atMs < startMs || atMs > endMs) continue;
    own.set(node, (own.get(node) ?? 0) + 1);
    sampleCount += 1;
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const total = new Map<number, number>();
  const totalOf = (node: Node): number => {
    const isWork = node.callFrame.functionName !== '(garbage collector)';
    const sum = childrenOf(node, byId)
      .map(totalOf)
      .reduce((left, right) => left + right, isWork ? (own.get(node.id) ?? 0) : 0);
    total.set(node.id, sum);
    return sum;
  };
  const [root] = nodes;
  if (root === undefined || sampleCount === 0) return 'not sampled';
  totalOf(root);
  const samplesOf = (node: Node): number => total.get(node.id) ?? 0;
  const calleesOf = (node: Node): readonly Node[] =>
    childrenOf(node, byId).sort((a, b) => samplesOf(b) - samplesOf(a));
  const way: Node[] = [];
  let last = root;
  for (;;) {
    const [most] = calleesOf(last);
    if (most === undefined || samplesOf(most) < samplesOf(last) * shareMin) break;
    way.push(most);
    last = most;
  }
  const parts = calleesOf(last)
    .filter((node) => samplesOf(node) >= samplesOf(last) * partShareMin)
    .map((node) => `${nameOf(node)} (${Math.round((100 * samplesOf(node)) / samplesOf(last))} %)`);
  const share = Math.round((100 * samplesOf(last)) / Math.max(1, samplesOf(root)));
  const marked = Math.round((100 * (sampleCount - samplesOf(root))) / sampleCount);
  return `${marked > 0 ? `the collector ${marked} %, of the rest ` : ''}${share} %: ${way.slice(-toldMax).map(nameOf).join(' > ')}${parts.length > 0 ? ` > ${parts.join(', ')}` : ''}`;
}

function childrenOf({ children = [] }: Node, byId: ReadonlyMap<number, Node>): Node[] {
  return children.flatMap((id) => byId.get(id) ?? []);
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  const file = url.slice(url.lastIndexOf('/') + 1);
  return `${functionName || 'anonymous'} ${file}:${lineNumber + 1}`;
}
