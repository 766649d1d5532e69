import assert from 'node:assert/strict';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import { backToThree, leaderOf, mustBeConsistent, podsOf, uidsOf } from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { isReady, valueAt } from '../steps/objects.ts';
import { SmallVolumes } from '../steps/small-volumes.ts';

/*
 * Volumes that are full, and claims that grow. Clients write and read all the time.
 */

interface MemberStatus {
  readonly name: string;
  readonly message?: string;
}

/** Waits until the Cluster says of a member that its disk is the trouble. */
async function untilTold({ namespace, report }: ScenarioContext, name: string, pod: string) {
  const start = performance.now();
  let message = '';
  await namespace.waitFor('pyd', name, `${pod} told`, 'storageCondition', (object) => {
    const members = (valueAt(object, 'status.members') ?? []) as readonly MemberStatus[];
    message = members.find((member) => member.name === pod)?.message ?? '';
    return /disk|room|volume|write its log/i.test(message);
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  report(`told of ${pod} after ${seconds} s: ${message}`);
}

async function grow(
  { namespace, report }: ScenarioContext,
  name: string,
  { volumes, gibibytes, spec = {} }: { volumes: SmallVolumes; gibibytes: number; spec?: object },
): Promise<void> {
  const start = performance.now();
  await namespace.patch('pyd', name, { spec: { storage: { size: `${gibibytes}Gi` }, ...spec } });
  await volumes.growTo(gibibytes, budgetMs('rolled'));
  await namespace.waitFor('pyd', name, 'Ready', 'rolled', isReady);
  await backToThree(namespace, name);
  report(`${gibibytes} GiB after ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

export const fullDiskScenarios: readonly Scenario[] = [
  {
    id: 'F11',
    title:
      'the volume of a follower full, then that of the leader: told, the others serve, and growth puts it right while the member is not',
    level: 2,
    needs: ['node chaos', 'several nodes'],
    async run(context) {
      const { namespace, cluster, load } = context;
      const volumes = await SmallVolumes.make(context, 1);
      try {
        const storage = { size: '1Gi', storageClassName: volumes.className };
        await cluster('brim', { replicas: 3, storage });
        const clients = await load('brim');
        await clients.untilAcknowledged(20);
        const uids = await uidsOf(namespace, 'brim');
        const first = await leaderOf(namespace, 'brim');
        const follower = podsOf('brim').find((pod) => pod !== first.pod) ?? '';
        await volumes.fill(`data-${follower}`);
        await untilTold(context, 'brim', follower);
        await clients.untilAcknowledged(20);
        await grow(context, 'brim', { volumes, gibibytes: 2 });
        const { pod } = await leaderOf(namespace, 'brim');
        await volumes.fill(`data-${pod}`);
        await untilTold(context, 'brim', pod);
        await clients.untilAcknowledged(20);
        await grow(context, 'brim', { volumes, gibibytes: 3 });
        assert.deepEqual(await uidsOf(namespace, 'brim'), uids);
        await clients.untilAcknowledged(20);
        mustHaveServed(context, await clients.stop());
        await mustBeConsistent(namespace, 'brim', 'load');
      } finally {
        await volumes.remove();
      }
    },
  },
  {
    id: 'B8',
    title:
      'more storage and more memory in one apply: claims grow, members roll, neither waits for the other',
    level: 2,
    needs: ['node chaos', 'several nodes'],
    async run(context) {
      const { namespace, cluster, load } = context;
      const volumes = await SmallVolumes.make(context, 1);
      try {
        const storage = { size: '1Gi', storageClassName: volumes.className };
        await cluster('both', { replicas: 3, storage });
        const clients = await load('both');
        const uids = await uidsOf(namespace, 'both');
        const resources = { requests: { memory: '600Mi' } };
        await grow(context, 'both', { volumes, gibibytes: 2, spec: { resources } });
        for (const [pod, uid] of Object.entries(await uidsOf(namespace, 'both'))) {
          assert.notEqual(uid, uids[pod], `${pod} was not restarted`);
          const containers = valueAt(await namespace.require('pod', pod), 'spec.containers');
          assert.match(JSON.stringify(containers), /"memory":"600Mi"/, pod);
        }
        const set = await namespace.require('statefulset', 'both');
        assert.match(JSON.stringify(valueAt(set, 'spec.volumeClaimTemplates')), /"2Gi"/);
        await clients.untilAcknowledged(20);
        mustHaveServed(context, await clients.stop());
        await mustBeConsistent(namespace, 'both', 'load');
      } finally {
        await volumes.remove();
      }
    },
  },
];
