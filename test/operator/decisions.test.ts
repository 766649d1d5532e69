import { parse } from 'yaml';
import { runGoldenFile } from '#test/support/datadriven.ts';
import { conditionOf } from '../../operator/api/conditions.ts';
import type { Action, Decision } from '../../operator/api/decision.ts';
import { reconcile } from '../../operator/reconcile/reconcile.ts';
import { nowMs, observationOf } from './observation-builder.ts';
import type { World } from './observation-builder.ts';

// Observation → Decision, as a table. Each case is a Cluster at rest in which something is different.

runGoldenFile(new URL('./decisions.txt', import.meta.url), ({ input, options }) => {
  const before = options.get('before');
  const world = (parse(input) ?? {}) as World;
  const seen = observationOf(world, before === undefined ? {} : (parse(before) as object));
  const decision = reconcile(seen, nowMs);
  // The same observation gives the same decision.
  const again = reconcile(seen, nowMs);
  if (JSON.stringify(again) !== JSON.stringify(decision)) throw new Error('not a function');
  return print(decision);
});

function print({ action, status, events, outcome, againAfterMs }: Decision): string {
  const { conditions, operation } = status;
  const ready = conditionOf(conditions, 'Ready');
  const stalled = conditionOf(conditions, 'Stalled');
  return [
    `action  ${action === undefined ? 'none' : describe(action)}`,
    `phase   ${status.phase ?? ''}${operation === undefined ? '' : ` (${operation.type} ${operation.step})`}`,
    `ready   ${ready?.status ?? ''} ${ready?.reason ?? ''}`,
    ...(stalled === undefined ? [] : [`stalled ${stalled.reason}: ${stalled.message}`]),
    ...[...outcome, ...events].map(({ reason, note }) => `event   ${reason}: ${note}`),
    ...(againAfterMs === undefined ? [] : [`again   ${againAfterMs} ms`]),
  ].join('\n');
}

function describe(action: Action): string {
  switch (action.kind) {
    case 'apply':
      return `apply ${action.objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).join(' ')}`;
    case 'create-secret':
      return `create-secret ${action.name} ${Object.keys(action.fill).join(' ')}`;
    case 'delete':
      return `delete ${action.target.kind}/${action.target.name} ${action.propagation}${action.gracePeriodSeconds === undefined ? '' : ` grace ${action.gracePeriodSeconds}`}`;
    case 'label':
      return `label ${action.target.kind}/${action.target.name} ${JSON.stringify(action.labels)}`;
    case 'evict':
    case 'grow-claim':
      return `${action.kind} ${action.target.kind}/${action.target.name}`;
    case 'set-settings':
      return `set-settings ${action.changes.map(({ key, value }) => `${key}=${value}`).join(' ')}`;
    case 'set-finalizer':
      return `set-finalizer ${action.isPresent}`;
    default:
      return action.kind;
  }
}
