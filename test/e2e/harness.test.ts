import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clearAbandonedRuns, type RunNamespace } from '../../e2e/abandoned-runs.ts';
import { choose } from '../../e2e/choose-scenarios.ts';
import { junit } from '../../e2e/report.ts';
import { partOf } from '../../e2e/settings.ts';
import type { WatchedChange } from '../../e2e/steps/api-server.ts';
import type { KubernetesObject } from '../../e2e/steps/objects.ts';
import { RightsAudit } from '../../e2e/steps/operator-metrics.ts';
import { Watchdog } from '../../e2e/steps/watchdog.ts';

// What the harness of the scenarios concludes from what it sees; the scenarios themselves need a cluster.

describe('the watchdog', () => {
  const playing = () => {
    let tell: (change: WatchedChange) => void = () => {};
    const watch = (
      path: string,
      { onChange }: { readonly onChange: (change: WatchedChange) => void },
    ): Promise<void> => {
      if (path.endsWith('/pods')) tell = onChange;
      return Promise.resolve();
    };
    const watchdog = new Watchdog({ watch }, 'shop');
    const object = (kind: string, name: string, uid: string): KubernetesObject => ({
      kind,
      metadata: { name, uid, resourceVersion: '1', labels: { 'polyad.io/cluster': 'orders' } },
    });
    return {
      watchdog,
      tell: (type: WatchedChange['type'], kind: string, name: string, uid: string) =>
        tell({ type, object: object(kind, name, uid) }),
    };
  };

  it('sees two pods of one member at once, and nothing in one after the other', () => {
    const { watchdog, tell } = playing();
    tell('ADDED', 'Pod', 'orders-0', 'a');
    tell('DELETED', 'Pod', 'orders-0', 'a');
    tell('ADDED', 'Pod', 'orders-0', 'b');
    assert.deepEqual(watchdog.end(), []);
    tell('ADDED', 'Pod', 'orders-0', 'c');
    assert.deepEqual(watchdog.end(), ['orders-0: b and c at once']);
  });

  it('minds a lost volume unless the scenario gives it up', () => {
    const { watchdog, tell } = playing();
    watchdog.allowLostVolumes();
    tell('DELETED', 'PersistentVolumeClaim', 'data-orders-0', 'v');
    assert.deepEqual(watchdog.end(), []);
    const strict = playing();
    strict.tell('DELETED', 'PersistentVolumeClaim', 'data-orders-0', 'v');
    assert.deepEqual(strict.watchdog.end(), ['data-orders-0 was deleted']);
    assert.match(strict.watchdog.trace(), /DELETED PersistentVolumeClaim\/data-orders-0/);
  });
});

it('the audit of rights tells unused from used and denied, and what an apply implies', () => {
  const audit = new RightsAudit();
  const call = (verb: string, resource: string, code: string) => ({
    name: 'polyad_operator_api_calls_total',
    labels: { verb, group: '', resource, code },
    value: 1,
  });
  audit.note(new Map([['pod', [call('patch', 'services', '201'), call('get', 'nodes', '403')]]]));
  assert.deepEqual(audit.denied, ['get /nodes']);
  const granted = ['create /services', 'patch /services', 'delete /services'];
  assert.deepEqual(audit.unused(granted), ['delete /services']);
});

it('JUnit XML holds any text', () => {
  const text = junit([
    { id: 'F1', title: 'a < b & c', outcome: 'failed', seconds: 1, remarks: ['said "no"\u0007'] },
    { id: 'F2', title: 'skipped', outcome: 'skipped', seconds: 0, remarks: ['no nodes'] },
  ]);
  assert.match(text, /<testsuite name="e2e" tests="2" failures="1" skipped="1">/);
  assert.match(text, /name="F1 a &lt; b &amp; c"/);
  assert.match(text, /<failure message="said &quot;no&quot;\?">/);
});

it('the parts of a level hold each scenario once, and level 0 every time', () => {
  const all = [0, 1, 0, 1, 1, 2, 1].map((level, at) => ({ id: `S${at}`, level }));
  const given = { only: new Set<string>(), level: 1 };
  const parts = ['1/3', '2/3', '3/3'].map((text) =>
    choose(all, { ...given, part: partOf(text) }).map(({ id }) => id),
  );
  assert.deepEqual(parts, [
    ['S0', 'S1', 'S2', 'S6'],
    ['S0', 'S2', 'S3'],
    ['S0', 'S2', 'S4'],
  ]);
  assert.equal(choose(all, { ...given, part: partOf() }).length, 6);
  for (const text of ['0/3', '4/3', '1', 'a/b', '1/2/3']) assert.throws(() => partOf(text));
});

it('a run that was killed is taken away by the next one; one that lives, and what was kept, stay', async () => {
  const of = (run: string, beat: string, hasOperator = false): RunNamespace => ({
    ...{ name: `${run}-${hasOperator ? 'operator' : 'i2'}`, run, beat, hasOperator },
  });
  const before = [of('dead', '7', true), of('dead', ''), of('alive', '3', true), of('kept', '')];
  const after = before.map((one) => (one.run === 'alive' ? { ...one, beat: '5' } : one));
  const lists = [before, after];
  const removed: string[] = [];
  const outcome = await clearAbandonedRuns({
    list: async () => lists.shift() ?? [],
    wait: async () => {},
    remove: async (namespaces) => void removed.push(...namespaces.map(({ name }) => name)),
  });
  assert.deepEqual(outcome, { cleared: ['dead'], living: ['alive'] });
  assert.deepEqual(removed, ['dead-operator', 'dead-i2']);
});
