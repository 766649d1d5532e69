import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { DatabaseError } from '#core/errors.ts';

/** PEM texts for both ends of the connections between members (ha.md 4.5). */
export interface RaftTls {
  readonly certificates: string;
  readonly key: string;
  readonly trusted: string;
  /** Whoever dials shows a certificate of the trust collection. */
  readonly isMutual: boolean;
}

/** A file with the key of the setting that names it. */
export interface TlsFile {
  readonly setting: string;
  readonly path: string;
}

export interface RaftTlsFiles {
  readonly certificates: TlsFile;
  readonly key: TlsFile;
  readonly trusted: TlsFile;
  readonly isMutual: boolean;
}

const serverAuth = '1.3.6.1.5.5.7.3.1';
const clientAuth = '1.3.6.1.5.5.7.3.2';

/**
 * Reads the files and checks all that would fail at the first connection only.
 *
 * @param ownHost as the other members write it in their server lists
 * @returns what an administrator should hear, too
 * @throws DatabaseError `InvalidSetting` naming the setting and what is wrong
 */
export function readRaftTls(
  files: RaftTlsFiles,
  { ownHost, nowMs }: { readonly ownHost: string; readonly nowMs: number },
): { readonly tls: RaftTls; readonly warnings: readonly string[] } {
  const certificates = pemOf(files.certificates, 'CERTIFICATE');
  const key = pemOf(files.key, 'PRIVATE KEY');
  const trusted = pemOf(files.trusted, 'CERTIFICATE');
  const own = certificateOf(files.certificates, certificates);
  certificateOf(files.trusted, trusted);
  requireKey(files.key, key, own);
  requireUsable(files.certificates, own, { ownHost, nowMs });
  const warnings: string[] = [];
  if ((statSync(files.key.path).mode & 0o077) !== 0)
    warnings.push(`${files.key.path} can be read by others; its mode should be 600`);
  if (!files.isMutual)
    warnings.push(
      'service.ha.tls.mutualAuth=false: whoever dials the Raft port needs no certificate',
    );
  return { tls: { certificates, key, trusted, isMutual: files.isMutual }, warnings };
}

/** When the own certificate ends, epoch ms. */
export function endOf({ certificates }: RaftTls): number {
  return new X509Certificate(certificates).validToDate.getTime();
}

/** Whether a certificate speaks for the host of a peer id. */
export function speaksFor(certificate: X509Certificate, host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return (isIP(bare) === 0 ? certificate.checkHost(bare) : certificate.checkIP(bare)) !== undefined;
}

function pemOf(file: TlsFile, label: string): string {
  if (file.path === '') throw refused(file, 'is empty; TLS between members needs a PEM file there');
  let text: string;
  try {
    text = readFileSync(file.path, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw refused(file, `cannot be read: ${reason}`);
  }
  const labels = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g)].map(([, found]) => found);
  const other = labels.find((found) => found?.endsWith('PRIVATE KEY') && found !== 'PRIVATE KEY');
  if (label === 'PRIVATE KEY' && other !== undefined)
    throw refused(
      file,
      `holds '${other}'; it must be PKCS#8, label 'PRIVATE KEY' (openssl pkcs8 -topk8 -nocrypt)`,
    );
  if (!labels.includes(label)) throw refused(file, `holds no PEM block '${label}'`);
  return text;
}

function certificateOf(file: TlsFile, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw refused(file, 'holds a certificate that cannot be parsed');
  }
}

function requireKey(file: TlsFile, pem: string, certificate: X509Certificate): void {
  let isOfCertificate: boolean;
  try {
    isOfCertificate = certificate.checkPrivateKey(createPrivateKey(pem));
  } catch {
    throw refused(file, 'holds a private key that cannot be parsed');
  }
  if (!isOfCertificate) throw refused(file, 'does not belong to the certificate');
}

function requireUsable(
  file: TlsFile,
  certificate: X509Certificate,
  { ownHost, nowMs }: { readonly ownHost: string; readonly nowMs: number },
): void {
  if (certificate.validToDate.getTime() < nowMs)
    throw refused(file, `expired on ${certificate.validTo}`);
  const usages: readonly string[] = certificate.keyUsage ?? [];
  if (!usages.includes(serverAuth))
    throw refused(file, 'lacks the extended key usage serverAuth; members need both');
  if (!usages.includes(clientAuth))
    throw refused(file, 'lacks the extended key usage clientAuth; members need both');
  if (certificate.subjectAltName === undefined)
    throw refused(file, 'has no subject alternative name');
  if (!speaksFor(certificate, ownHost))
    throw refused(
      file,
      `has no subject alternative name for '${ownHost}', as the server list calls this server; it has ${certificate.subjectAltName}`,
    );
}

function refused({ setting, path }: TlsFile, what: string): DatabaseError {
  return new DatabaseError(
    'InvalidSetting',
    `${setting}${path === '' ? '' : ` (${path})`} ${what}`,
  );
}
