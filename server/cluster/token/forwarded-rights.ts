import { createHmac, timingSafeEqual } from 'node:crypto';
import type { LentRights } from '#security/authorizer.ts';

/** What an API token of one server may do, told to another one: each server knows its own tokens only (ha.md 6.2 rule 4). */
export type ForwardedRights = LentRights;

export const rightsHeader = 'x-service-forwarded-rights';

/** `<base64 of JSON>.<HMAC-SHA-256 with the cluster token>` */
export function signRights(rights: ForwardedRights, token: string): string {
  const text = Buffer.from(JSON.stringify(rights)).toString('base64url');
  return `${text}.${macOf(text, token).toString('base64url')}`;
}

/** Undefined when it was not signed with this token. */
export function readRights(header: string, token: string): ForwardedRights | undefined {
  const [text = '', mac = ''] = header.split('.', 2);
  const given = Buffer.from(mac, 'base64url');
  const expected = macOf(text, token);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as ForwardedRights;
  } catch {
    return undefined;
  }
}

function macOf(text: string, token: string): Buffer {
  return createHmac('sha256', token).update(text).digest();
}
