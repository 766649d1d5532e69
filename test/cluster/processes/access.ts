import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Asker } from '../../http/access/asker.ts';
import {
  tryAllowed,
  tryCommands,
  tryOtherDoors,
  tryRoutes,
  tryStatements,
} from '../../http/access/matrix.ts';
import { linearizable, password, patient, startProcesses, until } from './support.ts';

// The table of who may do what (test/http/access) once more, with every request sent to a follower (security.md 4; ha.md 6.4).

/** What would change the membership or the copy of the server that is asked. */
const changing = [
  'POST /cluster/leave',
  'POST /cluster/prepare-stop',
  'POST /cluster/stepdown',
  'POST /cluster/leader',
  'POST /cluster/resync/:database',
];

/** On a machine that is short of processors the lead may move to the one that is asked; then it shows nothing. */
const attemptCountMax = 3;

test('a follower admits and refuses everybody as a single server does', async (context) => {
  let wasFollower = false;
  for (let attempt = 0; attempt < attemptCountMax && !wasFollower; attempt += 1)
    wasFollower = await tryAll(context);
  assert.ok(wasFollower, 'it was a follower all the time');
});

/** @returns whether the server that was asked was a follower at the end, too */
async function tryAll(context: TestContext): Promise<boolean> {
  const cluster = await startProcesses(context, 3, {
    ...patient,
    'server.httpAuthSessionMax': '1000',
    'server.plugins': 'prometheus',
  });
  const leader = await cluster.leader();
  for (const name of ['school', 'other']) {
    const made = await cluster.ask(leader, 'POST', 'server', {
      command: `create database ${name}`,
    });
    assert.equal(made.status, 200, JSON.stringify(made.body));
  }
  const follower = cluster.servers.find((server) => server !== leader);
  assert.ok(follower);
  await until('it has both', async () => {
    const { body } = await cluster.ask(follower, 'GET', 'databases');
    return (body as { result: unknown[] }).result.length === 2;
  });
  const asker = new Asker(follower.httpPort, password, linearizable);
  context.after(() => asker.close());
  await asker.setUp();
  await tryRoutes(asker, (route, { isRoot }) => isRoot === true && changing.includes(route));
  await tryCommands(asker);
  await tryStatements(asker);
  await tryOtherDoors(asker, follower.httpPort);
  await tryAllowed(asker);
  return (await cluster.leader()) !== follower;
}
