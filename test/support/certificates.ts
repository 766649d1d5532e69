import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** A key and a self-signed certificate, made by openssl for this run. */
export interface TestCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** Valid for a day, for localhost and 127.0.0.1. @param name also the names of the files */
export function makeCertificate(directory: string, name: string): TestCertificate {
  const certificate = join(directory, `${name}.crt`);
  const key = join(directory, `${name}.key`);
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    key,
    '-out',
    certificate,
    '-days',
    '1',
    '-subj',
    `/CN=${name}`,
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1',
  );
  return { certificate, key };
}

/** The same in one PKCS#12 file. @returns its path */
export function makePkcs12({ certificate, key }: TestCertificate, password: string): string {
  const path = certificate.replace(/\.crt$/, '.p12');
  openssl(
    'pkcs12',
    '-export',
    '-in',
    certificate,
    '-inkey',
    key,
    '-out',
    path,
    '-passout',
    `pass:${password}`,
  );
  return path;
}

/** An encrypted copy of a private key. @returns its path */
export function encryptKey({ key }: TestCertificate, password: string): string {
  const path = `${key}.encrypted`;
  openssl('pkcs8', '-topk8', '-in', key, '-out', path, '-passout', `pass:${password}`);
  return path;
}

function openssl(...given: readonly string[]): void {
  execFileSync('openssl', given, { stdio: 'pipe' });
}
