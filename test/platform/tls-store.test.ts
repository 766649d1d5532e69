import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { readIdentity, readTrustedCertificates } from '#platform/tls-store.ts';
import { encryptKey, makeCertificate, makePkcs12 } from '../support/certificates.ts';

// Key and trust stores in every form, made by openssl for this run.

function directoryOf(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-tls-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const setting = 'service.ssl.keyStore';

async function refusal(path: string, password = ''): Promise<string> {
  try {
    await readIdentity({ path, password, setting });
    return '';
  } catch (error) {
    const { message, code } = error as Error & { code: string };
    assert.equal(code, 'InvalidSetting');
    assert.ok(message.startsWith(`${setting} '${path}': `), message);
    assert.equal(password !== '' && message.includes(password), false);
    return message;
  }
}

test('a key store is PKCS#12, PEM in one file or several, or a directory', async (context) => {
  const directory = directoryOf(context);
  const made = makeCertificate(directory, 'one');
  const { certificate, key } = made;
  assert.equal(await refusal(`${certificate}, ${key}`), '');
  assert.equal(await refusal(`${key},${certificate}`), '');
  const combined = join(directory, 'combined.pem');
  writeFileSync(combined, `${readFileSync(key, 'utf8')}\n${readFileSync(certificate, 'utf8')}`);
  assert.equal(await refusal(combined), '');
  assert.equal(await refusal(makePkcs12(made, 'changeit'), 'changeit'), '');
  assert.equal(await refusal(`${certificate},${encryptKey(made, 'keyword')}`, 'keyword'), '');
  const mounted = join(directory, 'mounted');
  mkdirSync(mounted);
  writeFileSync(join(mounted, 'tls.crt'), readFileSync(certificate));
  writeFileSync(join(mounted, 'tls.key'), readFileSync(key));
  assert.equal(await refusal(mounted), '');
  const { validUntil } = await readIdentity({ path: mounted, password: '', setting });
  assert.ok(validUntil !== undefined && validUntil > Date.now());
});

test('what cannot serve is refused in words, naming the setting and never the password', async (context) => {
  const directory = directoryOf(context);
  const one = makeCertificate(directory, 'one');
  const two = makeCertificate(directory, 'two');
  const file = (name: string, content: string | Buffer) => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  assert.match(await refusal(join(directory, 'absent')), /cannot be read \(ENOENT\)/);
  assert.match(await refusal(','), /is empty/);
  assert.match(await refusal(one.certificate), /0 private keys/);
  assert.match(await refusal(`${one.key},${two.key},${one.certificate}`), /2 private keys/);
  assert.match(await refusal(one.key), /no certificate/);
  assert.match(await refusal(`${one.certificate},${two.key}`), /does not belong/);
  const store = makePkcs12(one, 'changeit');
  assert.match(await refusal(store, 'somethingelse'), /password is wrong or missing/);
  assert.match(await refusal(store), /password is wrong or missing/);
  const encrypted = `${one.certificate},${encryptKey(one, 'keyword')}`;
  assert.match(await refusal(encrypted, 'otherword'), /password is wrong or missing/);
  assert.match(await refusal(encrypted), /password is wrong or missing/);
  const java = file('java.jks', Buffer.from('feedfeed0000000200000000', 'hex'));
  assert.match(await refusal(java), /Java key store; convert it with keytool/);
  assert.notEqual(await refusal(file('noise', 'no store at all')), '');
  const cut = readFileSync(one.certificate, 'utf8').replace(/\n.{20}/, '\n');
  assert.notEqual(await refusal(`${file('cut.crt', cut)},${one.key}`), '');
});

test('a trust store holds certificates in PEM', async (context) => {
  const directory = directoryOf(context);
  const one = makeCertificate(directory, 'one');
  const two = makeCertificate(directory, 'two');
  const read = (path: string) => readTrustedCertificates({ path, password: '', setting });
  assert.equal((await read(`${one.certificate},${two.certificate}`)).length, 2);
  await assert.rejects(read(one.key), /no certificate/);
  await assert.rejects(read(makePkcs12(one, 'changeit')), /must be PEM/);
  await assert.rejects(read(join(directory, 'absent')), /ENOENT/);
});
