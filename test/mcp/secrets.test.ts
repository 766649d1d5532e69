import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allSettings } from '#config/registry.ts';
import { startMcp } from './mcp-fixture.ts';

test('values of secret settings are told nowhere: by no tool, no document, no log and no event', async (context) => {
  const { tool, configure, door } = await startMcp(context);
  await configure({ allowAdmin: true });
  const secrets = allSettings.filter(({ secret }) => secret);
  assert.ok(secrets.length >= 4, 'there are secrets');
  const canary = 'canary-of-a-secret';
  const told: string[] = [];
  /** Passwords in a longer text are masked there, the rest of it is shown. */
  const isPart = (key: string) => key === 'service.server.defaultDatabases';
  for (const [at, { key }] of secrets.entries()) {
    for (const secret of [`${canary}-${at}`, `${canary}-again-${at}`]) {
      const value = isPart(key) ? `school[ann:${secret}:admin]` : secret;
      const changed = await tool('set_server_setting', { key, value });
      told.push(changed.text);
      assert.equal(changed.isError, false, changed.text);
      assert.deepEqual(
        [changed.json['previousValue'], changed.json['newValue']],
        ['*****', '*****'],
      );
    }
    told.push(
      (await tool('set_server_setting', { key: `${key}x`, value: `${canary}-${at}` })).text,
    );
  }
  const listed = (await tool('get_server_settings')).json['settings'] as readonly {
    key: string;
    value: string;
    default: string;
  }[];
  for (const { key } of secrets) {
    const shown = listed.find((setting) => setting.key === key);
    if (shown === undefined || isPart(key)) continue;
    assert.deepEqual([shown.value, shown.default], ['*****', '*****'], key);
  }
  told.push(JSON.stringify(listed), (await door.ask('GET', 'server')).text);
  told.push(...door.logged.map(({ message, fields }) => message + JSON.stringify(fields)));
  told.push(...door.events.recent().map((event) => JSON.stringify(event)));
  for (const text of told) assert.equal(text.includes(canary), false, text.slice(0, 300));
});
