import { createHash, createPrivateKey, createPublicKey, webcrypto } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Extension, X509CertificateCreateParams } from '@peculiar/x509';

/*
 * Certificates of a Cluster (operator.md 6): an authority and the leaf that its members serve, ECDSA P-256 with SHA-256. Keys
 * and signatures are node's; the library writes the certificate. It is loaded when the first one is made: 20 MB that a
 * Cluster without certificates does not cost. Common names stay under 64 bytes, so that every implementation takes them.
 */

export interface IssuedCertificate {
  /** PEM. */
  readonly certificate: string;
  /** PKCS#8 PEM. */
  readonly key: string;
}

export interface LeafRequest {
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly notAfterMs: number;
}

const dayMs = 86_400_000;
/** Clocks of clients may be behind. */
const backdatedMs = 300_000;
const serialDigits = 32;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const keyUses: readonly webcrypto.KeyUsage[] = ['sign', 'verify'];

type Library = typeof import('@peculiar/x509');

async function load(): Promise<Library> {
  await import('reflect-metadata');
  const library = await import('@peculiar/x509');
  library.cryptoProvider.set(webcrypto);
  return library;
}

interface Signer {
  readonly commonName: string;
  readonly privateKey: webcrypto.CryptoKey;
  readonly publicKey: webcrypto.CryptoKey;
}

interface Wanted {
  readonly commonName: string;
  readonly nowMs: number;
  readonly notAfterMs: number;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly signer: Signer;
  readonly extensions: readonly Extension[];
}

async function issue(library: Library, wanted: Wanted): Promise<IssuedCertificate> {
  const { keys, signer } = wanted;
  const { publicKey } = keys;
  const nameOf = (utf8String: string) => new library.Name([{ CN: [{ utf8String }] }]);
  const parameters: X509CertificateCreateParams = {
    serialNumber: await serialOf(publicKey),
    subject: nameOf(wanted.commonName),
    issuer: nameOf(signer.commonName),
    notBefore: new Date(wanted.nowMs - backdatedMs),
    notAfter: new Date(wanted.notAfterMs),
    publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      ...wanted.extensions,
      await library.SubjectKeyIdentifierExtension.create(publicKey),
      await library.AuthorityKeyIdentifierExtension.create(signer.publicKey),
    ],
  };
  const certificate = await library.X509CertificateGenerator.create(parameters);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { certificate: `${certificate.toString('pem')}\n`, key: pemOf(key) };
}

/** As good as random, since each certificate has a key of its own. Positive, and never shorter than its bytes. */
async function serialOf(publicKey: webcrypto.CryptoKey): Promise<string> {
  const spki = Buffer.from(await webcrypto.subtle.exportKey('spki', publicKey));
  const digits = createHash('sha256').update(spki).digest('hex').slice(0, serialDigits);
  const first = (Number.parseInt(digits.slice(0, 1), 16) & 0x3) | 0x4;
  return `${first}${digits.slice(1)}`;
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, keyUses) as Promise<webcrypto.CryptoKeyPair>;
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** An authority for one Cluster, which may sign leaves only. @param days how long it is valid */
export async function makeAuthority(
  commonName: string,
  days: number,
  nowMs: number,
): Promise<IssuedCertificate> {
  const library = await load();
  const keys = await newKeys();
  const { keyCertSign, cRLSign } = library.KeyUsageFlags;
  return issue(library, {
    commonName,
    nowMs,
    notAfterMs: nowMs + days * dayMs,
    keys,
    signer: { commonName, ...keys },
    extensions: [
      new library.BasicConstraintsExtension(true, 0, true),
      new library.KeyUsagesExtension(keyCertSign | cRLSign, true),
    ],
  });
}

/**
 * A certificate for servers and clients.
 * @param authority common name and key of who signs
 */
export async function makeLeaf(
  request: LeafRequest,
  authority: { readonly commonName: string; readonly key: string },
  nowMs: number,
): Promise<IssuedCertificate> {
  const library = await load();
  const { serverAuth, clientAuth } = library.ExtendedKeyUsage;
  const names = request.dnsNames.map((value) => ({ type: 'dns' as const, value }));
  return issue(library, {
    ...request,
    nowMs,
    keys: await newKeys(),
    signer: { commonName: authority.commonName, ...(await signingKeys(authority.key)) },
    extensions: [
      new library.BasicConstraintsExtension(false, undefined, true),
      new library.KeyUsagesExtension(library.KeyUsageFlags.digitalSignature, true),
      new library.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
      new library.SubjectAlternativeNameExtension(names),
    ],
  });
}

async function signingKeys(pem: string): Promise<Pick<Signer, 'privateKey' | 'publicKey'>> {
  const key = createPrivateKey(pem);
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
}
