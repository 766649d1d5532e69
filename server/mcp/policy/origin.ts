/*
 * Which pages may speak to the tool server (contract 2, transport rule 5; mcp.md 1.2): a page of another site that a browser
 * was led to must not reach a server on the machine of its user (DNS rebinding).
 */

/** Scheme, host and port as one text, the default port left out; undefined for what is no origin. */
function normalOrigin(text: string): string | undefined {
  if (!/^https?:\/\/[^/?#@\s]+\/?$/i.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text).origin;
}

/** Whether an entry of `allowedOrigins` can be one. A star stands for all origins, never for a part of a host. */
export function isOriginEntry(text: string): boolean {
  return text === '*' || (!text.includes('*') && normalOrigin(text) !== undefined);
}

export interface OriginCheck {
  readonly origin: string | undefined;
  /** Header `Host`. */
  readonly host: string | undefined;
  readonly isSecure: boolean;
  readonly allowedOrigins: readonly string[];
}

export function isAcceptedMcpOrigin(check: OriginCheck): boolean {
  const { origin, host, isSecure, allowedOrigins } = check;
  if (origin === undefined || allowedOrigins.includes('*')) return true;
  const given = normalOrigin(origin);
  if (given === undefined) return false;
  if (isLoopback(new URL(given).hostname)) return true;
  const addressed = normalOrigin(`${isSecure ? 'https' : 'http'}://${host ?? ''}`);
  if (given === addressed) return true;
  return allowedOrigins.some((entry) => normalOrigin(entry) === given);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
