import assert from 'node:assert/strict';
import { test } from 'node:test';
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

test('a follower admits and refuses everybody as a single server does', async (context) => {
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
  assert.notEqual(await cluster.leader(), follower, 'it was a follower all the time');
});
