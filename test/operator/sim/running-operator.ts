import { Operator } from '../../../operator/act/operator.ts';
import { fence } from '../../../operator/kubernetes/fence.ts';
import { Metrics } from '../../../operator/kubernetes/metrics.ts';
import type { CallRecord } from '../../../operator/kubernetes/port.ts';
import { RestClient } from '../../../operator/kubernetes/rest-client.ts';
import { DatabaseClient } from '../../../operator/observe/database-client.ts';
import type { MemberTransport } from '../../../operator/observe/database-client.ts';
import { fencedMembers } from '../../../operator/observe/member-fence.ts';
import { facts, silentLog } from './simulated-world.ts';
import type { SimulatedWorld } from './simulated-world.ts';

export interface RunningOptions {
  readonly namespaces?: readonly string[];
  readonly mayWrite?: () => boolean;
  readonly clusterSelector?: string;
  readonly concurrency?: number;
  /** How members are reached, when not at once. */
  readonly members?: MemberTransport;
  readonly pollMs?: number;
}

/** The whole operator with its watches and its queue, on the simulated control plane and its clock. */
export function runOperatorOn(
  world: SimulatedWorld,
  {
    namespaces = [],
    mayWrite = () => true,
    clusterSelector = '',
    concurrency = 10,
    members = world.members,
    pollMs = 30_000,
  }: RunningOptions = {},
): { readonly operator: Operator; readonly metrics: Metrics; readonly calls: CallRecord[] } {
  const metrics = new Metrics();
  const calls: CallRecord[] = [];
  const hold = fence(mayWrite);
  const api = new RestClient({
    transport: world.api,
    beforeCall: (call) => {
      calls.push(call);
      hold(call);
    },
  });
  const operator = new Operator({
    api,
    databases: new DatabaseClient(fencedMembers(members, mayWrite), world.runtime),
    facts,
    runtime: world.runtime,
    log: silentLog,
    metrics,
    instance: 'running',
    namespaces,
    clusterSelector,
    concurrency,
    pollMs,
    resyncMs: 600_000,
  });
  return { operator, metrics, calls };
}

/** Time passes; everybody else in the cluster gets a turn each `stepMs`. */
export async function pass(world: SimulatedWorld, ms: number, stepMs = 500): Promise<void> {
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += stepMs) {
    await world.runtime.advance(stepMs);
    world.controllers.step();
  }
  await world.runtime.advance(0);
}
