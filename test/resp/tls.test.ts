import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { makeCertificate } from '../support/certificates.ts';
import { startWire, WireClient } from './wire-fixture.ts';

test('with service.redis.tls the wire is encrypted with the certificate of HTTPS', async (context) => {
  const path = mkdtempSync(join(tmpdir(), 'polyad-redis-tls-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  const made = join(path, 'made');
  mkdirSync(made);
  const { certificate, key } = makeCertificate(made, 'wire');
  copyFileSync(key, join(path, 'tls.key'));
  copyFileSync(certificate, join(path, 'tls.crt'));
  const wire = await startWire(context, { 'ssl.keyStore': path, 'redis.tls': 'true' });
  const client = await new Promise<WireClient>((resolve, reject) => {
    const ca = readFileSync(certificate, 'utf8');
    const options = {
      port: wire.port,
      host: '127.0.0.1',
      ca,
      checkServerIdentity: () => undefined,
    };
    const socket = connect(options, () => resolve(new WireClient(socket)));
    socket.once('error', reject);
  });
  assert.equal(await client.call('AUTH', 'root', 'password'), '+OK');
  assert.equal(await client.call('SET', 'k', 'v'), '+OK');
  assert.equal(await client.call('GET', 'k'), 'v');
  client.close();
  const plain = await WireClient.connect(wire.port);
  plain.send('PING\r\n');
  assert.doesNotMatch(await plain.ended(), /PONG|NOAUTH/);
});

test('without key and certificates service.redis.tls is refused by name', async (context) => {
  await assert.rejects(
    startWire(context, { 'redis.tls': 'true' }),
    /service\.redis\.tls=true needs service\.ssl\.enabled=true/,
  );
});
