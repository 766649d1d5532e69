import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type RemoteTokens, TokenSessions } from '#security/token-sessions.ts';
import type { Users } from '#security/users.ts';
import {
  ManualClock,
  makeUsers,
  random,
  RecordedAudit,
  temporaryDirectory,
  usersWithRoot,
} from './fixtures.ts';

// Login tokens of another server of the cluster, while one of the two has not applied the last change of the users.

const unlimited = {
  idleMs: () => 1_800_000,
  absoluteMs: () => 0,
  perUserMax: () => 0,
  countMax: () => 100,
};
const client = { sourceIp: null, userAgent: null, country: null, city: null };

function tokensOf(users: Users, serverName: string): TokenSessions {
  const audit = new RecordedAudit();
  const clock = new ManualClock();
  return new TokenSessions({ serverName, users, clock, random, limits: unlimited, audit });
}

/** Two servers with the same users; changes reach each of them when the test says so. */
async function twoServers(context: TestContext) {
  const { users: issuing } = await usersWithRoot(context);
  await issuing.create('jay', { password: 'first-password', databases: new Map() });
  const asking = makeUsers(temporaryDirectory(context), new RecordedAudit());
  await asking.take({ op: 'users', text: issuing.text });
  const issuer = tokensOf(issuing, 'one');
  const asker = tokensOf(asking, 'two');
  let catchUp = async () => {};
  const remote: RemoteTokens = {
    issuerOf: (token) => (token.startsWith('AU-one-') ? 'one' : undefined),
    validate: async (token) => {
      const found = issuer.confirm(token);
      return found === undefined ? 'unknown' : { ...found, caughtUp: () => catchUp() };
    },
    revoke: () => {},
  };
  asker.shareWith(remote);
  const changedLine = async () => {
    const elsewhere = makeUsers(temporaryDirectory(context), new RecordedAudit());
    await elsewhere.take({ op: 'users', text: issuing.text });
    await elsewhere.update('jay', { password: 'second-password' });
    return { op: 'users', text: elsewhere.text } as const;
  };
  const whenCaughtUp = (run: () => Promise<void>) => {
    catchUp = run;
  };
  return { issuing, asking, issuer, asker, changedLine, whenCaughtUp };
}

test('a token does not live again on a server that has the new password, though its issuer has not', async (context) => {
  const { issuing, asking, issuer, asker, changedLine } = await twoServers(context);
  const token = issuer.login('jay', client);
  assert.equal((await asker.ask(token))?.name, 'jay');
  const change = await changedLine();
  await asking.take(change);
  assert.equal(asker.findOrAsk(token), 'ask');
  assert.equal(await asker.ask(token), undefined);
  await issuing.take(change);
  assert.equal(await asker.ask(token), undefined);
});

test('a token of the new password is honoured by a server that has still the old one, as soon as it has caught up', async (context) => {
  const { issuing, asking, issuer, asker, changedLine, whenCaughtUp } = await twoServers(context);
  const change = await changedLine();
  await issuing.take(change);
  const token = issuer.login('jay', client);
  assert.equal(await asker.ask(token), undefined, 'what it cannot prove it refuses');
  whenCaughtUp(() => asking.take(change));
  assert.equal((await asker.ask(token))?.name, 'jay');
  assert.notEqual(asker.findOrAsk(token), 'ask');
});
