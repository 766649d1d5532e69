import assert from 'node:assert/strict';
import { it } from 'node:test';
import { errorOfAnswer } from '../../operator/kubernetes/kubernetes-error.ts';

const answer = (status: number, message: string) =>
  errorOfAnswer({
    status,
    body: JSON.stringify({ message, reason: 'Forbidden' }),
    retryAfter: undefined,
  });

it('an owner of a kind that the API server has just learned of is a matter of seconds', () => {
  const error = answer(
    403,
    'statefulsets.apps "orders" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion polyad.io/v1alpha1 Kind Cluster: no matches for kind "Cluster" in version "polyad.io/v1alpha1"',
  );
  assert.deepEqual([error.code, error.retryAfterMs], [503, 2000]);
});

it('every other refusal stays one', () => {
  const error = answer(403, 'statefulsets.apps is forbidden: User "x" cannot patch resource');
  assert.deepEqual([error.code, error.retryAfterMs], [403, undefined]);
});

it('a budget that refuses an eviction is told from an API server that is busy', () => {
  const refused = (details: object) =>
    errorOfAnswer({
      status: 429,
      body: JSON.stringify({ message: 'no', reason: 'TooManyRequests', details }),
      retryAfter: undefined,
    }).isByBudget;
  assert.equal(refused({ causes: [{ reason: 'DisruptionBudget', message: 'needs 1' }] }), true);
  assert.equal(refused({ retryAfterSeconds: 1 }), false);
});
