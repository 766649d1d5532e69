// Users by statements: who may, what is told when they are there or not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeUser, type UserChanges } from '#database/operations/change-user.ts';
import type { MaintenanceOrder } from '#database/statement/context.ts';
import type { ChangeUser } from '#query/algebra/maintenance.ts';

function fixture(isRoot: boolean) {
  const known = new Map<string, string>();
  const told: string[] = [];
  const users: UserChanges = {
    get: (name) => known.get(name),
    list: () => [],
    create: async (name, { password }) => void known.set(name, password),
    update: async (name, { password }) => void known.set(name, password),
    drop: async (name) => void known.delete(name),
    told: (message) => void told.push(message),
  };
  const order = { asker: { principal: { name: 'x', isRoot } } } as unknown as MaintenanceOrder;
  const run = (change: ChangeUser['change'], password?: string, isLenient = false) =>
    changeUser({ kind: 'change-user', change, name: 'ann', password, isLenient }, order, users);
  return { known, told, run };
}

test('root makes, changes and drops users', async () => {
  const { known, told, run } = fixture(true);
  await run('create', 'first');
  await run('create', 'other', true);
  assert.equal(known.get('ann'), 'first');
  await run('alter', 'second');
  assert.equal(known.get('ann'), 'second');
  await run('drop');
  assert.equal(known.size, 0);
  await run('drop', undefined, true);
  await assert.rejects(run('drop'), /User 'ann' does not exist/);
  await assert.rejects(run('alter', 'x'), /User 'ann' does not exist/);
  assert.deepEqual(told, [
    "User 'x' created user 'ann'",
    "User 'x' changed password of user 'ann'",
    "User 'x' deleted user 'ann'",
  ]);
});

test('others than root may not', async () => {
  const { known, told, run } = fixture(false);
  await assert.rejects(run('create', 'first'), /only root/);
  assert.equal(known.size, 0);
  assert.deepEqual(told, []);
});
