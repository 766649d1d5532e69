import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import { command, makeSchool, rows, startProcesses, until } from './support.ts';

// Certificates and secrets between real servers: strangers of every kind stay out, and both are replaced under load (security.md 3).

const root = mkdtempSync(join(tmpdir(), 'polyad-tls-'));
after(() => rmSync(root, { recursive: true, force: true }));
const openssl = (...line: readonly string[]) => execFileSync('openssl', line, { stdio: 'pipe' });

interface Pair {
  readonly cert: string;
  readonly key: string;
}

function made(name: string, usage = 'serverAuth,clientAuth', days = '1'): Pair {
  const [cert, key, request] = ['crt', 'key', 'csr'].map((ending) =>
    join(root, `${name}.${ending}`),
  );
  assert.ok(cert && key && request);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-new', ...curve, '-keyout', key, '-out', request, '-subj', `/CN=${name}`);
  const extensions = join(root, `${name}.ext`);
  writeFileSync(extensions, `extendedKeyUsage=${usage}\nsubjectAltName=IP:127.0.0.1\n`);
  const signed = ['-signkey', key, '-days', days, '-extfile', extensions, '-out', cert];
  openssl('x509', '-req', '-in', request, ...signed);
  return { cert, key };
}

/** In one step, as a mounted secret changes. */
function put(name: string, ...parts: readonly string[]): string {
  const path = join(root, name);
  writeFileSync(`${path}.new`, parts.join(''));
  renameSync(`${path}.new`, path);
  return path;
}

const text = (path: string) => readFileSync(path, 'utf8');

/** @returns whether the port let somebody with this certificate in: it is told behind the handshake */
function letsIn(port: number, pair: Pair | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const own = pair && { cert: text(pair.cert), key: text(pair.key) };
    const socket = connect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
      ...own,
    });
    // What HTTP/2 begins with: who is let in gets the settings of the server.
    socket.on('secureConnect', () =>
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
    );
    socket.on('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
  });
}

/** @returns what a server that takes TLS answers to plain text */
function plainAnswer(port: number): Promise<string> {
  return new Promise((resolve) => {
    let seen = '';
    const socket = connectPlain(port, '127.0.0.1', () =>
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
    );
    socket.on('data', (piece) => {
      seen += String(piece);
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(seen));
  });
}

function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw).subject);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

const oldToken = 'the-first-token-of-all';
const newToken = 'the-second-token-of-all';

async function accepts(cluster: LocalCluster, token: string): Promise<boolean> {
  const headers = { authorization: '', 'x-service-cluster-token': token };
  const answers = await Promise.all(
    cluster.servers.map((server) =>
      cluster.ask(server, 'POST', 'cluster/capabilities', {}, headers),
    ),
  );
  return answers.every(({ status }) => status === 200);
}

test('strangers stay out of a Raft port with TLS; certificates and the token are replaced under load without a failed request', async (context) => {
  const first = made('first');
  const second = made('second');
  const files = {
    cert: put('own.crt', text(first.cert)),
    key: put('own.key', text(first.key)),
    trusted: put('trusted.crt', text(first.cert)),
    token: put('token', `${oldToken}\n`),
  };
  const cluster = await startProcesses(context, 3, {
    'ha.tls.enabled': 'true',
    'ha.tls.certChainFile': files.cert,
    'ha.tls.privateKeyFile': files.key,
    'ha.tls.trustCertCollectionFile': files.trusted,
    'ha.clusterTokenPath': files.token,
    'server.reloadEvery': '100',
    // An election would answer 503, which is no fault of the certificates.
    'ha.electionTimeoutMin': '4000',
    'ha.electionTimeoutMax': '6000',
  });
  await makeSchool(cluster, await cluster.leader());
  const port = cluster.servers[1]?.options.raftPort ?? 0;
  assert.equal(await letsIn(port, first), true);
  const strangers = {
    'no certificate': undefined,
    'another authority': made('foreign'),
    expired: made('expired', 'serverAuth,clientAuth', '-1'),
    'wrong usage': made('server-only', 'serverAuth'),
  };
  for (const [name, pair] of Object.entries(strangers))
    assert.equal(await letsIn(port, pair), false, name);
  assert.equal(await plainAnswer(port), '', 'plain text on the TLS port');
  await assert.rejects(shown(cluster.servers[1]?.httpPort ?? 0), 'TLS on a plain port');

  const failures: string[] = [];
  let isOver = false;
  let written = 0;
  const writers = cluster.servers.map(async (server, place) => {
    for (let turn = 0; !isOver; turn += 1) {
      const number = turn * 3 + place;
      const answer = await command(cluster, server, `INSERT INTO Person SET number = ${number}`);
      if (answer.status === 200) written += 1;
      else failures.push(`${answer.status} ${JSON.stringify(answer.body)}`);
    }
  });
  const goesOn = async (what: string) => {
    const before = written;
    await until(what, async () => written > before + 15);
  };
  await goesOn('writes');
  put('token', `${oldToken}\n${newToken}\n`);
  await until('both tokens are known', () => accepts(cluster, newToken));
  put('token', `${newToken}\n${oldToken}\n`);
  await goesOn('writes with the new token');
  put('token', `${newToken}\n`);
  await until('the old token is dead', async () => !(await accepts(cluster, oldToken)));
  put('trusted.crt', text(first.cert), text(second.cert));
  await until('both authorities are known', async () => {
    const all = cluster.servers.map(({ options }) => letsIn(options.raftPort, second));
    return (await Promise.all(all)).every(Boolean);
  });
  // The key comes first: a certificate that does not belong to it changes nothing yet.
  put('own.key', text(second.key));
  put('own.crt', text(second.cert));
  await until('the new certificate is shown', async () => {
    const all = cluster.servers.map(({ options }) => shown(options.raftPort));
    return (await Promise.all(all)).every((subject) => subject === 'CN=second');
  });
  await goesOn('writes with the new certificate');
  put('trusted.crt', text(second.cert));
  await until('the old one is a stranger', async () => !(await letsIn(port, first)));
  await goesOn('writes without the old one');
  isOver = true;
  await Promise.all(writers);
  assert.deepEqual(failures, []);
  const [row] = await rows(cluster, await cluster.leader(), 'SELECT count(*) AS n FROM Person');
  assert.equal(row?.['n'], written);
});

test('a server whose files cannot serve does not start, and names the setting', async (context) => {
  const good = made('good');
  const cluster = await startProcesses(context, 1);
  const [server] = cluster.servers;
  assert.ok(server);
  await server.stop();
  const settings = (more: Readonly<Record<string, string>>) => ({
    'ha.tls.enabled': 'true',
    'ha.tls.certChainFile': good.cert,
    'ha.tls.privateKeyFile': good.key,
    'ha.tls.trustCertCollectionFile': good.cert,
    ...more,
  });
  const oneWay = made('one-way', 'serverAuth');
  const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [
      { 'ha.tls.trustCertCollectionFile': '' },
      /service\.ha\.tls\.trustCertCollectionFile is empty/,
    ],
    [{ 'ha.tls.privateKeyFile': join(root, 'nowhere') }, /service\.ha\.tls\.privateKeyFile/],
    [
      { 'ha.tls.certChainFile': oneWay.cert, 'ha.tls.privateKeyFile': oneWay.key },
      /service\.ha\.tls\.certChainFile.*clientAuth/,
    ],
    [{ 'ha.clusterTokenPath': join(root, 'nowhere') }, /service\.ha\.clusterTokenPath/],
    [{ 'ha.quorum': 'two' }, /service\.ha\.quorum/],
  ];
  for (const [more, reason] of cases) {
    server.start(settings(more));
    await until('it gives up', async () => !server.isRunning);
    assert.match(server.output, reason);
  }
});
