import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { ask, serverCommand } from '../steps/member.ts';
import { conditionOf, isReady, type Namespace, reasonOf, valueAt } from '../steps/objects.ts';

const podUid = async (namespace: Namespace, pod: string): Promise<string> =>
  (await namespace.require('pod', pod)).metadata.uid;

async function settingOf(namespace: Namespace, pod: string, key: string): Promise<unknown> {
  const { body } = await ask(namespace, pod, { path: '/server?mode=default' });
  const settings = (JSON.parse(body) as { settings?: { key: string; value: unknown }[] }).settings;
  return settings?.find((setting) => setting.key === key)?.value;
}

const restarted = (namespace: Namespace, pod: string, before: string) =>
  namespace.waitFor(
    'pod',
    pod,
    'another one and ready',
    'memberRestart',
    (object) => object?.metadata.uid !== before && conditionOf(object, 'Ready') === 'True',
  );

export const rollingScenarios: readonly Scenario[] = [
  {
    id: 'R1',
    title: 'a setting that needs a restart: one restart, nothing lost',
    level: 0,
    async run({ namespace, cluster, load, report }) {
      await cluster('roll');
      const clients = await load('roll');
      const before = await podUid(namespace, 'roll-0');
      await namespace.patch('pyd', 'roll', {
        spec: { settings: { 'service.server.wsMaxConnections': '777' } },
      });
      await restarted(namespace, 'roll-0', before);
      await namespace.waitFor('pyd', 'roll', 'Ready', 'memberRestart', isReady);
      assert.equal(
        String(await settingOf(namespace, 'roll-0', 'service.server.wsMaxConnections')),
        '777',
      );
      await clients.untilAcknowledged(20);
      const { longestGapSeconds, acknowledged } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s, ${acknowledged} writes`);
      assert.ok(longestGapSeconds * 1000 <= budgetMs('memberRestartGap'), 'gap');
    },
  },
  {
    id: 'R2',
    title: 'a hot setting: effective at once, no restart, survives one',
    level: 1,
    async run({ namespace, cluster, report }) {
      await cluster('hot');
      const before = await podUid(namespace, 'hot-0');
      const key = 'service.server.httpQueryDefaultLimit';
      const start = performance.now();
      await namespace.patch('pyd', 'hot', { spec: { settings: { [key]: '1234' } } });
      await namespace.waitFor('pyd', 'hot', 'Ready', 'hotSetting', isReady);
      assert.equal(String(await settingOf(namespace, 'hot-0', key)), '1234');
      report(`effective after ${((performance.now() - start) / 1000).toFixed(1)} s`);
      assert.equal(await podUid(namespace, 'hot-0'), before);
      await namespace.kubectl(['delete', 'pod', 'hot-0']);
      await restarted(namespace, 'hot-0', before);
      assert.equal(String(await settingOf(namespace, 'hot-0', key)), '1234');
    },
  },
  {
    id: 'R3',
    title: 'a change of backup.json is taken over live',
    level: 1,
    async run({ namespace, cluster, report }) {
      const schedule = (minutes: number) => ({
        defaults: { schedule: { type: 'frequency', frequencyMinutes: minutes } },
      });
      await cluster('saved', { backup: schedule(60) });
      const before = await podUid(namespace, 'saved-0');
      assert.match(await serverCommand(namespace, 'saved-0', 'get backup config'), /60/);
      const start = performance.now();
      await namespace.patch('pyd', 'saved', { spec: { backup: schedule(45) } });
      await namespace.waitFor('pyd', 'saved', 'Ready', 'deliveredFile', isReady);
      const deadline = performance.now() + 60_000;
      let told = await serverCommand(namespace, 'saved-0', 'get backup config');
      while (!told.includes('45') && performance.now() < deadline)
        told = await serverCommand(namespace, 'saved-0', 'get backup config');
      assert.match(told, /45/);
      report(`${((performance.now() - start) / 1000).toFixed(1)} s`);
      assert.equal(await podUid(namespace, 'saved-0'), before);
    },
  },
  {
    id: 'R4',
    title: 'a setting that the server refuses: Stalled with the cause, mended by mending the spec',
    level: 1,
    async run({ namespace, cluster, expectRestarts }) {
      expectRestarts();
      await cluster('bad', { update: { progressDeadlineSeconds: 60 } });
      await namespace.patch('pyd', 'bad', {
        spec: { settings: { 'service.noSuchSetting': 'x' } },
      });
      const stalled = await namespace.waitFor(
        'pyd',
        'bad',
        'stalled',
        'deliveredFile',
        (object) => conditionOf(object, 'Stalled') === 'True',
      );
      assert.match(reasonOf(stalled, 'Stalled'), /noSuchSetting/);
      await namespace.patch('pyd', 'bad', { spec: { settings: null } });
      const mended = await namespace.waitFor('pyd', 'bad', 'Ready', 'memberBack', isReady);
      assert.equal(conditionOf(mended, 'Stalled') ?? 'False', 'False');
    },
  },
  {
    id: 'R5',
    title: 'restart by annotation and by kubectl; the same value again does nothing',
    level: 1,
    async run({ namespace, cluster }) {
      await cluster('again');
      const annotate = (value: string) =>
        namespace.kubectl([
          'annotate',
          '--overwrite',
          'pyd',
          'again',
          `polyad.io/restart=${value}`,
        ]);
      const first = await podUid(namespace, 'again-0');
      await annotate('a');
      await restarted(namespace, 'again-0', first);
      const second = await podUid(namespace, 'again-0');
      await annotate('a');
      await pause(8_000);
      assert.equal(await podUid(namespace, 'again-0'), second);
      await namespace.kubectl(['rollout', 'restart', 'statefulset', 'again']);
      await restarted(namespace, 'again-0', second);
      await namespace.waitFor('pyd', 'again', 'Ready', 'memberRestart', isReady);
    },
  },
  {
    id: 'R6',
    title:
      'a restart that is paused, out of its window, or left to a person: it waits, says for what, and comes when it may',
    level: 2,
    async run({ namespace, cluster, report }) {
      const key = 'service.server.wsMaxConnections';
      const never = { cron: '0 3 1 1 *', durationMinutes: 1 };
      await cluster('idle', { update: { paused: true } });
      let connections = 700;
      let uid = await podUid(namespace, 'idle-0');
      /** Asks for a restart that is held. */
      const mustWait = async (update: object, why: RegExp): Promise<void> => {
        connections += 1;
        const settings = { [key]: String(connections) };
        await namespace.patch('pyd', 'idle', { spec: { update, settings } });
        const held = await namespace.waitFor('pyd', 'idle', 'held', 'stalled', (object) =>
          reasonOf(object, 'ConfigApplied').startsWith('RestartPending'),
        );
        assert.match(reasonOf(held, 'ConfigApplied'), why);
        await pause(8_000);
        assert.equal(await podUid(namespace, 'idle-0'), uid);
        assert.notEqual(isReady(await namespace.require('pyd', 'idle')), true);
        assert.notEqual(await settingOf(namespace, 'idle-0', key), String(connections));
      };
      const mustCome = async (): Promise<void> => {
        const start = performance.now();
        await restarted(namespace, 'idle-0', uid);
        await namespace.waitFor('pyd', 'idle', 'Ready', 'memberRestart', isReady);
        assert.equal(String(await settingOf(namespace, 'idle-0', key)), String(connections));
        uid = await podUid(namespace, 'idle-0');
        report(`came after ${((performance.now() - start) / 1000).toFixed(1)} s`);
      };
      const may = (update: object) => namespace.patch('pyd', 'idle', { spec: { update } });
      await mustWait({ paused: true }, /spec\.update\.paused/);
      await may({ paused: false });
      await mustCome();
      await mustWait({ maintenanceWindows: [never] }, /window.*spec\.update\.maintenanceWindows/);
      await may({ maintenanceWindows: [{ cron: '* * * * *', durationMinutes: 60 }] });
      await mustCome();
      await mustWait(
        { maintenanceWindows: null, strategy: 'OnDelete' },
        /OnDelete: delete the pod/,
      );
      await namespace.kubectl(['delete', 'pod', 'idle-0']);
      await mustCome();
    },
  },
  {
    id: 'R9',
    title: 'drift made by hand is corrected within 5 s and restarts nothing',
    level: 1,
    async run({ namespace, cluster, report }) {
      await cluster('drift');
      const before = await podUid(namespace, 'drift-0');
      const service = (await namespace.require('service', 'drift-http')).metadata.uid;
      const start = performance.now();
      await namespace.kubectl(['delete', 'service', 'drift-http']);
      await namespace.waitFor(
        'service',
        'drift-http',
        'there again',
        'driftCorrected',
        (object) => object !== undefined && object.metadata.uid !== service,
      );
      report(`Service after ${((performance.now() - start) / 1000).toFixed(1)} s`);
      await namespace.patch('statefulset', 'drift', {
        spec: { template: { spec: { terminationGracePeriodSeconds: 7 } } },
      });
      await namespace.waitFor(
        'statefulset',
        'drift',
        'as before',
        'driftCorrected',
        (object) => valueAt(object, 'spec.template.spec.terminationGracePeriodSeconds') === 120,
      );
      await namespace.kubectl(['scale', 'statefulset', 'drift', '--replicas=0']);
      await namespace.waitFor(
        'statefulset',
        'drift',
        'one replica',
        'driftCorrected',
        (object) => valueAt(object, 'spec.replicas') === 1,
      );
      await namespace.waitFor('pyd', 'drift', 'Ready', 'memberBack', isReady);
      const pod = await podUid(namespace, 'drift-0');
      await namespace.kubectl(['label', 'pod', 'drift-0', 'polyad.io/role-']);
      await namespace.waitFor(
        'pod',
        'drift-0',
        'labelled',
        'driftCorrected',
        (object) => object?.metadata.labels?.['polyad.io/role'] === 'leader',
      );
      assert.equal(await podUid(namespace, 'drift-0'), pod);
      if (pod !== before) report('scaling by hand to 0 took the pod before it was corrected');
    },
  },
];
