import assert from 'node:assert/strict';
import { test } from 'node:test';
import { haGroupCommitBatchSize } from '#config/cluster-log-settings.ts';
import { Settings } from '#config/effective-settings.ts';
import { allSettings, findSetting, requireSetting, variableOf } from '#config/registry.ts';
import {
  serverHttpIncomingPort,
  serverHttpQueryDefaultLimit,
  serverHttpTxExpireTimeout,
  serverName,
  serverDefaultDatabases,
  serverRootPassword,
} from '#config/server-settings.ts';
import { commandTimeout, queryMaxMemory, txRetries } from '#config/settings.ts';
import { loadSettings, splitWords } from '#config/sources.ts';
import { serverNameInTokens } from '#security/token-sessions.ts';
import { parseSize, sizeText } from '#config/units.ts';

interface Given {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly file?: unknown;
}

function load({ args = [], env = {}, file }: Given) {
  const readFile = () => (file === undefined ? undefined : JSON.stringify(file));
  return loadSettings({ commandLine: args, environment: env, readFile });
}

test('each source overrides the weaker ones', () => {
  const file = { 'service.server.name': 'file' };
  const env = { SERVICE_SETTINGS: 'server.name=settings', SERVICE_SERVER_NAME: 'variable' };
  const nameOf = (given: Given) => load(given).settings.get(serverName);
  assert.equal(nameOf({}), 'Service_0');
  assert.equal(nameOf({ file }), 'file');
  assert.equal(nameOf({ file, env: { SERVICE_SETTINGS: env.SERVICE_SETTINGS } }), 'settings');
  assert.equal(nameOf({ file, env }), 'variable');
  assert.equal(nameOf({ file, env, args: ['--service.server.name=line'] }), 'line');
  assert.equal(nameOf({ file, env, args: ['-Dserver.name=line2'] }), 'line2');
});

test('keys are taken with or without prefix, in any case, and as exact variable names', () => {
  const { settings } = load({
    env: {
      SERVICE_SETTINGS: '-Dservice.SERVER.httptxexpiretimeout=7',
      'service.server.httpQueryDefaultLimit': '9',
    },
  });
  assert.equal(settings.get(serverHttpTxExpireTimeout), 7);
  assert.equal(settings.get(serverHttpQueryDefaultLimit), 9);
});

test('the batch of group commit has a variable of its own, which is checked as the setting', () => {
  const env = { HA_RAFT_GROUP_COMMIT_BATCH_SIZE: '77' };
  assert.equal(load({ env }).settings.get(haGroupCommitBatchSize), 77);
  assert.throws(
    () => load({ env: { HA_RAFT_GROUP_COMMIT_BATCH_SIZE: '0' } }),
    /groupCommitBatchSize is '0'; it must be a whole number from 1 to 10000.*HA_RAFT_GROUP_COMMIT_BATCH_SIZE/,
  );
});

test('a server may have any printable name; what its tokens cannot hold of it becomes _', () => {
  for (const [name, shown] of [
    ['Zürich 1/a', 'Z_rich_1_a'],
    ['node:1', 'node_1'],
    ['Service_0', 'Service_0'],
  ] as const) {
    const { settings } = load({ args: [`--service.server.name=${name}`] });
    assert.equal(settings.get(serverName), name);
    assert.equal(serverNameInTokens(name), shown);
  }
  for (const name of ['', ' a', 'a@b', 'a,b', 'a\nb', 'x'.repeat(129)])
    assert.throws(() => load({ args: [`--service.server.name=${name}`] }), /service\.server\.name/);
});

test('quotes keep blanks in SERVICE_SETTINGS', () => {
  assert.deepEqual(splitWords(` a=b  'c=d e' f="x \\" 'y'" g='' `), [
    'a=b',
    'c=d e',
    `f=x " 'y'`,
    'g=',
  ]);
  assert.throws(() => splitWords('a="b'), /unclosed quote/);
});

test('unknown keys are refused by name with the nearest known key', () => {
  assert.throws(() => load({ args: ['--server.nmae=x'] }), /'server.nmae'.*'service.server.name'/);
  assert.throws(() => load({ env: { SERVICE_SERVER_NMAE: 'x' } }), /SERVICE_SERVER_NMAE/);
  assert.throws(() => load({ file: { 'no.such.key': 1 } }), /unknown setting 'no.such.key'/);
  assert.throws(() => load({ env: { SERVICE_SETTINGS: 'nonsense' } }), /'nonsense'/);
  assert.throws(() => load({ args: ['-Xmx4g'] }), /-Xmx4g/);
});

test('service links of Kubernetes are no settings', () => {
  const env = { SERVICE_SERVICE_HOST: '10.0.0.1', SERVICE_PORT_2480_TCP_ADDR: '10.0.0.1' };
  assert.equal(load({ env }).settings.get(serverName), 'Service_0');
});

test('a wrong value warns and falls back, or ends the start where that would be unsafe', () => {
  const { settings, warnings } = load({ args: ['--server.httpTxExpireTimeout=soon'] });
  assert.equal(settings.get(serverHttpTxExpireTimeout), 30);
  assert.match(warnings[0] ?? '', /service.server.httpTxExpireTimeout is 'soon'.*command line/);
  assert.throws(() => load({ args: ['--server.httpIncomingPort=70000'] }), /70000/);
});

test('arguments that are no settings are handed back', () => {
  assert.deepEqual(load({ args: ['--version', '--json'] }).switches, ['--version', '--json']);
});

test('ports are a number or a range', () => {
  const portOf = (text: string) => serverHttpIncomingPort.parse(text);
  assert.deepEqual(portOf('2480'), { first: 2480, last: 2480 });
  assert.deepEqual(portOf('2480-2489'), { first: 2480, last: 2489 });
  assert.throws(() => portOf('2489-2480'), /range/);
});

test('sizes take units', () => {
  assert.equal(parseSize('10MB'), 10 * 1024 ** 2);
  assert.equal(parseSize('2 gb'), 2 * 1024 ** 3);
  assert.equal(parseSize('-1'), -1);
  assert.equal(parseSize('1.5MB'), undefined);
  assert.equal(parseSize('3 parsecs'), undefined);
  assert.equal(sizeText(1024 ** 2), '1 MiB');
  assert.equal(queryMaxMemory.parse('512MB'), 512 * 1024 ** 2);
});

test('a database keeps its own values above those the server had when it was opened', () => {
  const server = new Settings();
  server.set(txRetries, '5');
  const database = server.forDatabase(new Map([['service.command.timeout', '250']]));
  server.set(txRetries, '9');
  server.set(commandTimeout, '1');
  server.set(serverHttpTxExpireTimeout, '3');
  assert.equal(database.get(txRetries), 5);
  assert.equal(database.get(commandTimeout), 250);
  assert.equal(database.get(serverHttpTxExpireTimeout), 3);
});

test('a refused value changes nothing', () => {
  const settings = new Settings();
  assert.throws(() => settings.set(txRetries, 'many'), /service.txRetries is 'many'/);
  assert.equal(settings.get(txRetries), 3);
  assert.equal(settings.isOverridden(txRetries), false);
  settings.set(txRetries, '3');
  assert.equal(settings.isOverridden(txRetries), true);
});

test('reports mask secrets', () => {
  const settings = new Settings();
  settings.set(serverRootPassword, 'topsecret');
  assert.doesNotMatch(JSON.stringify(settings.report('server')), /topsecret/);
});

test('of the default databases only the passwords are masked', () => {
  const settings = new Settings();
  settings.set(
    serverDefaultDatabases,
    'U[albert:einstein2024:admin];A[jay:miner2024, jack]{import:http://x:y2024@h/f}',
  );
  const report = settings.report('server').find(({ key }) => key.endsWith('.defaultDatabases'));
  assert.equal(report?.value, 'U[albert:*****:admin];A[jay:*****, jack]{import:http://***@h/f}');
  settings.set(serverDefaultDatabases, 'A[jay:miner2024');
  assert.doesNotMatch(JSON.stringify(settings.report('server')), /miner2024/);
});

test('every setting is found by key and variable, and its default survives its text', () => {
  for (const spec of allSettings) {
    assert.equal(findSetting(spec.key.toUpperCase()), spec);
    assert.deepEqual(requireSetting(spec.key).parse(spec.format(spec.default)), spec.default);
    const { settings } = load({ env: { [variableOf(spec.key)]: spec.format(spec.default) } });
    assert.deepEqual(settings.get(spec), spec.default, spec.key);
  }
  assert.equal(variableOf('service.ha.raftPort'), 'SERVICE_HA_RAFT_PORT');
});
