import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/*
 * Certificates of a Cluster (operator.md 6): an authority and the leaf that its members serve, ECDSA P-256 with SHA-256. Node
 * signs but writes no X.509; this is the DER (X.690) of exactly these two kinds (RFC 5280). Common names stay under 64
 * bytes, so that every implementation takes them.
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
const serialBytes = 16;

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  const digits = Buffer.from(length.toString(16).padStart(length > 0xffff ? 6 : 4, '0'), 'hex');
  const size = length > 0xff ? digits : digits.subarray(1);
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(tags.sequence, ...parts);
const octets = (content: Uint8Array): Buffer => tlv(tags.octetString, content);
/** Context-specific; `isWhole` wraps another element. */
const context = (number: number, isWhole: boolean, content: Uint8Array): Buffer =>
  tlv((isWhole ? 0xa0 : 0x80) | number, content);

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let high = arc >>> 7; high > 0; high >>>= 7) groups.unshift((high & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tlv(tags.oid, Buffer.from(bytes));
}

const algorithm = sequence(oid('1.2.840.10045.4.3.2'));

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return new Date(ms).getUTCFullYear() < 2050
    ? tlv(tags.utcTime, Buffer.from(digits.slice(2)))
    : tlv(tags.generalizedTime, Buffer.from(digits));
}

function name(commonName: string): Buffer {
  const attribute = sequence(oid('2.5.4.3'), tlv(tags.utf8, Buffer.from(commonName, 'utf8')));
  return sequence(tlv(tags.set, attribute));
}

function extension(id: string, isCritical: boolean, content: Uint8Array): Buffer {
  const critical = isCritical ? [tlv(tags.boolean, Buffer.from([0xff]))] : [];
  return sequence(oid(id), ...critical, octets(content));
}

/** One byte of flags, counted from the left. */
function flags(byte: number, unusedBits: number): Buffer {
  return tlv(tags.bitString, Buffer.from([unusedBits, byte]));
}

/** SHA-1 of the key itself, as RFC 5280 4.2.1.2 proposes. The point of P-256 is the last 65 bytes. */
function keyIdentifier(publicKey: Buffer): Buffer {
  return createHash('sha1').update(publicKey.subarray(-65)).digest();
}

interface Parts {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: Buffer;
  readonly issuerPublicKey: Buffer;
  readonly issuerKey: KeyObject;
  readonly nowMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Buffer[];
}

function build(parts: Parts): string {
  // As good as random, since each certificate has a key of its own. Positive, and never shorter than its bytes.
  const serial = createHash('sha256').update(parts.publicKey).digest().subarray(0, serialBytes);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const signed = sequence(
    context(0, true, tlv(tags.integer, Buffer.from([2]))),
    tlv(tags.integer, serial),
    algorithm,
    name(parts.issuer),
    sequence(time(parts.nowMs - backdatedMs), time(parts.notAfterMs)),
    name(parts.subject),
    parts.publicKey,
    context(
      3,
      true,
      sequence(
        ...parts.extensions,
        extension('2.5.29.14', false, octets(keyIdentifier(parts.publicKey))),
        extension(
          '2.5.29.35',
          false,
          sequence(context(0, false, keyIdentifier(parts.issuerPublicKey))),
        ),
      ),
    ),
  );
  const signature = sign('sha256', signed, { key: parts.issuerKey, dsaEncoding: 'der' });
  const bits = tlv(tags.bitString, Buffer.from([0]), signature);
  const body = sequence(signed, algorithm, bits).toString('base64');
  const lines = body.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function newKey(): { readonly privateKey: KeyObject; readonly publicKey: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, publicKey: publicKey.export({ type: 'spki', format: 'der' }) };
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** An authority for one Cluster, which may sign leaves only. @param days how long it is valid */
export function makeAuthority(commonName: string, days: number, nowMs: number): IssuedCertificate {
  const { privateKey, publicKey } = newKey();
  const isAuthority = tlv(tags.boolean, Buffer.from([0xff]));
  const noneBelow = tlv(tags.integer, Buffer.from([0]));
  const certificate = build({
    subject: commonName,
    issuer: commonName,
    publicKey,
    issuerPublicKey: publicKey,
    issuerKey: privateKey,
    nowMs,
    notAfterMs: nowMs + days * dayMs,
    extensions: [
      extension('2.5.29.19', true, sequence(isAuthority, noneBelow)),
      // Signs certificates and lists of revoked ones.
      extension('2.5.29.15', true, flags(0x06, 1)),
    ],
  });
  return { certificate, key: pemOf(privateKey) };
}

/**
 * A certificate for servers and clients.
 * @param authority common name and key of who signs
 */
export function makeLeaf(
  request: LeafRequest,
  authority: { readonly commonName: string; readonly key: string },
  nowMs: number,
): IssuedCertificate {
  const { privateKey, publicKey } = newKey();
  const issuerKey = createPrivateKey(authority.key);
  const issuerPublicKey = createPublicKey(issuerKey).export({ type: 'spki', format: 'der' });
  const dnsNames = request.dnsNames.map((text) => context(2, false, Buffer.from(text, 'latin1')));
  const certificate = build({
    subject: request.commonName,
    issuer: authority.commonName,
    publicKey,
    issuerPublicKey,
    issuerKey,
    nowMs,
    notAfterMs: request.notAfterMs,
    extensions: [
      extension('2.5.29.19', true, sequence()),
      extension('2.5.29.15', true, flags(0x80, 7)),
      extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'), oid('1.3.6.1.5.5.7.3.2'))),
      extension('2.5.29.17', false, sequence(...dnsNames)),
    ],
  });
  return { certificate, key: pemOf(privateKey) };
}
