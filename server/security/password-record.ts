import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Random } from '#core/runtime.ts';
import type { KeyDerivation } from '#platform/key-derivation.ts';

/**
 * What is kept of a password (security.md 2.1): `scram` serves Basic and SCRAM-SHA-256 logins, `legacy` is a line of the
 * reference product, taken so that its users file can be dropped in.
 */
export type PasswordRecord =
  | {
      readonly scheme: 'scram';
      readonly iterations: number;
      readonly salt: Uint8Array;
      readonly storedKey: Uint8Array;
      readonly serverKey: Uint8Array;
    }
  | {
      readonly scheme: 'legacy';
      readonly iterations: number;
      /** Base64 text; the text itself, not its bytes, goes into the derivation. */
      readonly saltText: string;
      readonly hash: Uint8Array;
    };

const saltBytes = 32;
const keyBytes = 32;
const iterationsMax = 10_000_000;
const scramShape =
  /^SCRAM-SHA-256\$(\d{1,8}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)$/;
const legacyShape = /^PBKDF2WithHmacSHA256\$(\d{1,8})\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/;

/** @returns undefined for text that is no record */
export function parsePasswordRecord(text: string): PasswordRecord | undefined {
  const scram = scramShape.exec(text);
  const legacy = legacyShape.exec(text);
  const iterations = Number(scram?.[1] ?? legacy?.[1] ?? 0);
  if (iterations < 1 || iterations > iterationsMax) return undefined;
  if (scram) {
    const [salt, storedKey, serverKey] = [bytesOf(scram[2]), bytesOf(scram[3]), bytesOf(scram[4])];
    if (storedKey.length !== keyBytes || serverKey.length !== keyBytes) return undefined;
    return { scheme: 'scram', iterations, salt, storedKey, serverKey };
  }
  const hash = bytesOf(legacy?.[3]);
  if (hash.length !== keyBytes) return undefined;
  return { scheme: 'legacy', iterations, saltText: legacy?.[2] ?? '', hash };
}

/** The inverse of `parsePasswordRecord`. */
export function formatPasswordRecord(record: PasswordRecord): string {
  if (record.scheme === 'legacy')
    return `PBKDF2WithHmacSHA256$${record.iterations}$${record.saltText}$${base64(record.hash)}`;
  const keys = `${base64(record.storedKey)}:${base64(record.serverKey)}`;
  return `SCRAM-SHA-256$${record.iterations}:${base64(record.salt)}$${keys}`;
}

/** A new record with its own salt. Cost: one derivation. @throws DatabaseError `Busy` */
export async function makePasswordRecord(
  password: string,
  options: { derivation: KeyDerivation; random: Random; iterations: number },
): Promise<PasswordRecord> {
  const { derivation, random, iterations } = options;
  const salt = random.bytes(saltBytes);
  const salted = await derivation.derive(password, salt, iterations);
  const serverKey = hmac(salted, 'Server Key');
  return { scheme: 'scram', iterations, salt, storedKey: storedKeyOf(salted), serverKey };
}

/** Compares in constant time. Cost: one derivation. @throws DatabaseError `Busy` */
export async function verifyPassword(
  password: string,
  record: PasswordRecord,
  derivation: KeyDerivation,
): Promise<boolean> {
  if (record.scheme === 'legacy') {
    const salt = Buffer.from(record.saltText, 'utf8');
    const key = await derivation.derive(password, salt, record.iterations);
    return timingSafeEqual(key, record.hash);
  }
  const salted = await derivation.derive(password, record.salt, record.iterations);
  return timingSafeEqual(storedKeyOf(salted), record.storedKey);
}

/** A record that no password fits, so that unknown names take the time of known ones. */
export function decoyRecord(random: Random, iterations: number): PasswordRecord {
  return {
    scheme: 'scram',
    iterations,
    salt: random.bytes(saltBytes),
    storedKey: random.bytes(keyBytes),
    serverKey: random.bytes(keyBytes),
  };
}

function storedKeyOf(saltedPassword: Uint8Array): Uint8Array {
  return createHash('sha256').update(hmac(saltedPassword, 'Client Key')).digest();
}

function hmac(key: Uint8Array, text: string): Uint8Array {
  return createHmac('sha256', key).update(text).digest();
}

function bytesOf(text: string | undefined): Uint8Array {
  return Buffer.from(text ?? '', 'base64');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
