import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PeerHttp } from '#cluster/forwarding/peer-http.ts';
import {
  followTrustedAuthorities,
  trustedAuthorities,
} from '#cluster/forwarding/trusted-authorities.ts';
import { Settings } from '#config/effective-settings.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { makeCertificate } from '../../support/certificates.ts';

// An authority is replaced while servers run (security.md 3): both are trusted first, then the certificates change, then the old one goes.

test('servers are told over HTTPS by the authorities that the trust store holds now', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-trust-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const [one, two] = [makeCertificate(directory, 'one'), makeCertificate(directory, 'two')];
  const store = join(directory, 'store.pem');
  copyFileSync(one.certificate, store);
  const read = (path: string) => readFileSync(path, 'utf8');
  const of = ({ certificate, key }: typeof one) => ({ cert: read(certificate), key: read(key) });
  const server = createServer(of(one), (_, response) => response.end('there'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const settings = new Settings(
    new Map([
      ['ssl.enabled', 'true'],
      ['ssl.trustStore', store],
    ]),
  );
  const looks: (() => void)[] = [];
  const warned: string[] = [];
  const timers = {
    ...systemRuntime.timers,
    after: (_: number, look: () => void) => {
      looks.push(look);
      return () => {};
    },
  };
  const http = new PeerHttp(
    { settings, timers: systemRuntime.timers },
    await trustedAuthorities(settings),
  );
  const stop = followTrustedAuthorities(
    settings,
    { timers, log: { warn: (text: string) => warned.push(text) } as never },
    (all) => http.trust(all),
  );
  context.after(() => {
    stop();
    http.close();
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const to = { kind: 'address', peer: 'b', host: '127.0.0.1', port, isSecure: true } as const;
  const ask = async () => {
    const asked = { method: 'GET', path: '/', headers: { connection: 'close' }, body: undefined };
    return (await http.askWhole(to, asked)).status;
  };
  const looked = async () => {
    const count = looks.length;
    looks.at(-1)?.();
    while (looks.length === count) await systemRuntime.timers.sleep(5);
  };
  assert.equal(await ask(), 200);
  server.setSecureContext(of(two));
  await assert.rejects(ask(), /self-signed certificate/);
  writeFileSync(store, 'half a fi');
  await looked();
  await looked();
  assert.equal(warned.length, 1, warned.join());
  writeFileSync(store, read(one.certificate) + read(two.certificate));
  await looked();
  assert.equal(await ask(), 200);
  server.setSecureContext(of(one));
  assert.equal(await ask(), 200);
  writeFileSync(store, read(two.certificate));
  await looked();
  await assert.rejects(ask(), /self-signed certificate/);
});
