import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DoorFixture } from '../door-fixture.ts';
import { startSockets } from '../../websocket/socket-fixture.ts';
import { routeRequests } from './rules.ts';
import { Asker } from './asker.ts';
import { tryAllowed, tryCommands, tryOtherDoors, tryRoutes, tryStatements } from './matrix.ts';

/*
 * A table over all doors: each route, each server command and each statement with side effects, by each
 * kind of caller. What is expected follows from `rules.ts`; a route or language without a rule fails. Through a follower:
 * `test/cluster/processes/access.ts`.
 */

/** Real doors over real databases, everybody known. */
async function open(
  context: TestContext,
): Promise<{ asker: Asker; door: DoorFixture; port: number }> {
  const { door, databases } = await startSockets(context, {
    'server.httpAuthSessionMax': '1000',
    'server.plugins': 'prometheus',
  });
  await databases.create('other');
  const asker = new Asker(door.port, 'password');
  context.after(() => asker.close());
  await asker.setUp();
  return { asker, door, port: door.port };
}

test('every route admits and refuses as the rules say', async (context) => {
  const { asker, door } = await open(context);
  const unruled = door.server.routes
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !(route in routeRequests));
  assert.deepEqual(unruled, [], 'routes without a rule in rules.ts');
  await tryRoutes(asker);
});

test('server commands are for root, but for the list of databases', async (context) => {
  const { asker } = await open(context);
  await tryCommands(asker);
});

test('who lacks the right writes through no door', async (context) => {
  const { asker } = await open(context);
  await tryStatements(asker);
});

test('who lacks the right writes neither in a session, nor by batch, nor by WebSocket', async (context) => {
  const { asker, port } = await open(context);
  await tryOtherDoors(asker, port);
});

test('who has the right may', async (context) => {
  const { asker } = await open(context);
  await tryAllowed(asker);
});
