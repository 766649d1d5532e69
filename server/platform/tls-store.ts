import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { DatabaseError } from '#core/errors.ts';

/*
 * Key and trust stores (http-api.md 21.5): PKCS#12, PEM, or a directory as Kubernetes mounts a TLS secret. Java key stores
 * are refused with the command that converts them.
 */

/** A private key with its certificates, as node:tls takes them. */
export interface TlsIdentity {
  readonly options: SecureContextOptions;
  /** Of the server's certificate, where it can be told (epoch milliseconds). */
  readonly validUntil: number | undefined;
  /** The files that hold the private key. */
  readonly keyFiles: readonly string[];
}

/** Where a store is, and how messages call it. */
export interface StoreAddress {
  /** As the setting says it. */
  readonly path: string;
  readonly password: string;
  /** Key of the setting that holds the path. */
  readonly setting: string;
}

const certificateFile = 'tls.crt';
const keyFile = 'tls.key';

/** The files that a key store consists of. */
export async function filesOfStore({ path }: StoreAddress): Promise<readonly string[]> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isDirectory) return [join(path, certificateFile), join(path, keyFile)];
  return path
    .split(',')
    .map((file) => file.trim())
    .filter((file) => file !== '');
}

/**
 * Reads a key with its certificates, and checks that they belong together.
 * @throws DatabaseError `InvalidSetting` naming setting, file and what is wrong
 */
export async function readIdentity(store: StoreAddress): Promise<TlsIdentity> {
  const files = await readStore(store);
  const contents = files.map(({ content }) => content);
  const keyFiles = files.filter(({ content }) => holdsKey(content)).map(({ file }) => file);
  const passphrase = store.password === '' ? undefined : { passphrase: store.password };
  const [first] = contents;
  const isPem = contents.every(looksLikePem);
  if (!isPem && contents.length > 1) throw refused(store, 'a PKCS#12 store is a single file');
  if (!isPem && first) {
    const options = { pfx: first, ...passphrase };
    requireUsable(store, options);
    return { options, validUntil: undefined, keyFiles };
  }
  const pem = contents.map((content) => content.toString('utf8')).join('\n');
  const cert = blocksOf(pem, 'CERTIFICATE');
  const key = blocksOf(pem, '(?:RSA |EC |ENCRYPTED )?PRIVATE KEY');
  if (cert.length === 0) throw refused(store, 'it holds no certificate');
  if (key.length !== 1) throw refused(store, `it holds ${key.length} private keys, one is needed`);
  const options = { cert: cert.join('\n'), key: key[0] as string, ...passphrase };
  requireUsable(store, options);
  const { validToDate } = new X509Certificate(cert[0] as string);
  return { options, validUntil: validToDate.getTime(), keyFiles };
}

/**
 * The certificates of a trust store in PEM.
 * @throws DatabaseError `InvalidSetting` naming setting, file and what is wrong
 */
export async function readTrustedCertificates(store: StoreAddress): Promise<readonly string[]> {
  const contents = (await readStore(store)).map(({ content }) => content);
  if (!contents.every(looksLikePem))
    throw refused(store, 'a trust store must be PEM (openssl pkcs12 -nokeys converts PKCS#12)');
  const pem = contents.map((content) => content.toString('utf8')).join('\n');
  const certificates = blocksOf(pem, 'CERTIFICATE');
  if (certificates.length === 0) throw refused(store, 'it holds no certificate');
  for (const certificate of certificates) {
    try {
      new X509Certificate(certificate);
    } catch (cause) {
      throw refused(store, reasonOf(cause));
    }
  }
  return certificates;
}

interface StoreFile {
  readonly file: string;
  readonly content: Buffer;
}

async function readStore(store: StoreAddress): Promise<readonly StoreFile[]> {
  const files = await filesOfStore(store);
  if (files.length === 0) throw refused(store, 'it is empty');
  return await Promise.all(
    files.map(async (file) => {
      let content: Buffer;
      try {
        content = await readFile(file);
      } catch (cause) {
        const code = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
        throw refused(store, `${file} cannot be read (${code})`);
      }
      if (isJavaKeyStore(content))
        throw refused(
          store,
          `${file} is a Java key store; convert it with keytool -importkeystore -deststoretype PKCS12`,
        );
      return { file, content };
    }),
  );
}

function holdsKey(content: Buffer): boolean {
  return !looksLikePem(content) || content.includes('PRIVATE KEY-----');
}

function looksLikePem(content: Buffer): boolean {
  return content.includes('-----BEGIN ');
}

function isJavaKeyStore(content: Buffer): boolean {
  if (content.length < 4) return false;
  const magic = content.readUInt32BE(0);
  return magic === 0xfeed_feed || magic === 0xcece_cece;
}

function blocksOf(pem: string, label: string): readonly string[] {
  return pem.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g')) ?? [];
}

function requireUsable(store: StoreAddress, options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (cause) {
    throw refused(store, reasonOf(cause));
  }
}

/** What OpenSSL says, in words of this place; it never quotes a password. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (/mac verify failure|bad decrypt|bad password|interrupted or cancelled/i.test(message))
    return 'the password is wrong or missing';
  if (/key values mismatch|key type mismatch/i.test(message))
    return 'the private key does not belong to the first certificate';
  if (/unsupported/i.test(message))
    return `its encryption is too old (${message}); write it anew with openssl pkcs12 -export`;
  return message;
}

function refused({ setting, path }: StoreAddress, reason: string): DatabaseError {
  return new DatabaseError('InvalidSetting', `${setting} '${path}': ${reason}`);
}
