import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isBlockedAddress, rangesOf } from '#platform/address-ranges.ts';
import { download, type FetchPolicy } from '#platform/remote-fetch.ts';

const nothing = rangesOf([]);

test('addresses that are not public are blocked, whatever they are written in', () => {
  const blocked = [
    '127.0.0.1',
    '127.9.9.9',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '0.0.0.0',
    '100.64.0.1',
    '192.0.0.8',
    '198.18.0.1',
    '198.19.255.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    'fdff::1',
    'ff02::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b::169.254.169.254',
    '2002:7f00:1::',
    '2002:c0a8:101::1',
    '2001:0:a00:1::',
    '2001:0:4136:e378:8000:63bf:80ff:fffe',
    'not an address',
  ];
  for (const address of blocked) assert.equal(isBlockedAddress(address, nothing), true, address);
  const open = [
    '8.8.8.8',
    '172.32.0.1',
    '172.15.0.1',
    '100.128.0.1',
    '192.0.1.1',
    '198.20.0.1',
    '11.0.0.1',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
  ];
  for (const address of open) assert.equal(isBlockedAddress(address, nothing), false, address);
});

test('ranges of a setting are exempt, everything else stays blocked', () => {
  const allowed = rangesOf(['10.1.0.0/16', 'fd00::/8', '127.0.0.1']);
  assert.equal(isBlockedAddress('10.1.2.3', allowed), false);
  assert.equal(isBlockedAddress('10.2.2.3', allowed), true);
  assert.equal(isBlockedAddress('fd12::1', allowed), false);
  assert.equal(isBlockedAddress('127.0.0.1', allowed), false);
  assert.equal(isBlockedAddress('::ffff:10.1.0.9', allowed), false);
  for (const text of ['10.0.0.0/33', 'x', '10.0.0/8', '::/129', '1.2.3.4/8/9'])
    assert.throws(() => rangesOf([text]), RangeError, text);
});

interface Fixture {
  readonly port: number;
  readonly asked: string[];
  fetch(
    url: string,
    policy?: Partial<FetchPolicy>,
    hosts?: Record<string, string[]>,
  ): Promise<string>;
}

async function open(context: TestContext, listener: RequestListener): Promise<Fixture> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-fetch-'));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host} ${request.url} ${request.headers.authorization ?? '-'}`);
    listener(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  context.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  let count = 0;
  return {
    port,
    asked,
    fetch: async (url, policy = {}, hosts = {}) => {
      count += 1;
      const path = join(directory, String(count));
      await download({
        url,
        path,
        policy: {
          allowsLocal: false,
          allowed: nothing,
          bytesMax: 1000,
          bytesSetting: 'the.setting',
          ...policy,
        },
        signal: new AbortController().signal,
        onRead: () => {},
        resolve: async (host) => hosts[host] ?? [],
      });
      return readFileSync(path, 'utf8');
    },
  };
}

const anyHere = { allowed: rangesOf(['127.0.0.1']) };

test('private hosts are refused before a connection is made', async (context) => {
  const { fetch, asked, port } = await open(context, (_request, response) => response.end('x'));
  const urls = [
    '127.0.0.1',
    '[::1]',
    '0.0.0.0',
    '2130706433',
    '0x7f.1',
    '127.1',
    '[::ffff:10.0.0.1]',
    '[64:ff9b::a00:1]',
  ];
  for (const host of urls)
    await assert.rejects(fetch(`http://${host}:${port}/`), { code: 'Forbidden' }, host);
  const mixed = { both: ['8.8.8.8', '127.0.0.1'] };
  await assert.rejects(fetch(`http://both:${port}/`, {}, mixed), { code: 'Forbidden' });
  for (const url of ['ftp://h/x', 'gopher://h', 'jar:http://h', 'data:,x', 'file:///etc/passwd'])
    await assert.rejects(fetch(url), { code: 'Forbidden' }, url);
  assert.deepEqual(asked, []);
});

test('the connection goes to the address that was judged', async (context) => {
  const { fetch, port, asked } = await open(context, (_request, response) => response.end('hello'));
  assert.equal(
    await fetch(`http://good.example:${port}/a`, anyHere, { 'good.example': ['127.0.0.1'] }),
    'hello',
  );
  assert.deepEqual(asked, [`good.example:${port} /a -`]);
});

test('every redirect is judged anew, five of them at most, and credentials stay with their host', async (context) => {
  const { fetch, port, asked } = await open(context, (request, response) => {
    const to = new URL(request.url ?? '/', 'http://h').searchParams.get('to');
    if (to === null) response.end('done');
    else response.writeHead(302, { location: to }).end();
  });
  const hosts = { a: ['127.0.0.1'], b: ['127.0.0.1'], inner: ['10.0.0.1'] };
  const at = (host: string, to: string) => `http://${host}:${port}/?to=${encodeURIComponent(to)}`;
  await assert.rejects(fetch(at('a', 'http://inner/'), anyHere, hosts), { code: 'Forbidden' });
  await assert.rejects(fetch(at('a', 'file:///etc/passwd'), anyHere, hosts), { code: 'Forbidden' });
  await assert.rejects(fetch(at('a', 'ftp://a/'), anyHere, hosts), { code: 'Forbidden' });
  assert.equal(await fetch(at('user:secret@a', `http://b:${port}/end`), anyHere, hosts), 'done');
  const last = asked.slice(-2);
  assert.match(last[0] ?? '', / Basic dXNlcjpzZWNyZXQ=$/);
  assert.match(last[1] ?? '', /^b:\d+ \/end -$/);
  let chain = `http://a:${port}/end`;
  for (let i = 0; i < 5; i += 1) chain = at('a', chain);
  assert.equal(await fetch(chain, anyHere, hosts), 'done');
  await assert.rejects(fetch(at('a', chain), anyHere, hosts), {
    code: 'Forbidden',
    message: /more than 5 redirects/,
  });
  const noUrl = { code: 'IllegalArgument' };
  await assert.rejects(fetch(at('a', 'http://['), anyHere, hosts), noUrl);
  await assert.rejects(fetch(`http://%zz@a:${port}/`, anyHere, hosts), noUrl);
});

test('answers that are too long, or none, are refused', async (context) => {
  const { fetch, port } = await open(context, (request, response) => {
    if (request.url === '/long') response.end('x'.repeat(2000));
    else response.writeHead(500).end();
  });
  const here = `http://127.0.0.1:${port}`;
  await assert.rejects(fetch(`${here}/long`, anyHere), {
    code: 'TooLarge',
    message: /the\.setting/,
  });
  await assert.rejects(fetch(`${here}/x`, anyHere), { message: /status 500/ });
  await assert.rejects(fetch('http://unknown/', anyHere), { code: 'CommandExecution' });
});
