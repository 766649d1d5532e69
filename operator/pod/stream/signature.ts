import { createHash, createHmac } from 'node:crypto';

/*
 * Signatures of requests to S3-compatible storage, version 4 ("AWS4-HMAC-SHA256"): every header and the content are part of it.
 */

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that end by themselves. */
  readonly sessionToken?: string | undefined;
  readonly region: string;
}

export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly contentHash: string;
}

const algorithm = 'AWS4-HMAC-SHA256';

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** @returns the headers to send, with the signature among them */
export function signedHeaders(
  request: UnsignedRequest,
  credentials: S3Credentials,
  nowMs: number,
): Readonly<Record<string, string>> {
  const { sessionToken, region, accessKeyId } = credentials;
  const moment = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const headers: Record<string, string> = {
    host: request.url.host,
    'x-amz-content-sha256': request.contentHash,
    'x-amz-date': moment,
    ...(sessionToken === undefined ? undefined : { 'x-amz-security-token': sessionToken }),
  };
  for (const [name, value] of Object.entries(request.headers ?? {}))
    headers[name.toLowerCase()] = value;
  const scope = `${moment.slice(0, 8)}/${region}/s3/aws4_request`;
  const { signedNames, canonical } = canonicalRequest(request, headers);
  const text = [algorithm, moment, scope, sha256(canonical)].join('\n');
  const signature = createHmac('sha256', signingKey(credentials, moment.slice(0, 8)))
    .update(text)
    .digest('hex');
  headers['authorization'] =
    `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`;
  return headers;
}

/** What is signed, as both sides have to write it. */
export function canonicalRequest(
  { method, url, contentHash }: Pick<UnsignedRequest, 'method' | 'url' | 'contentHash'>,
  headers: Readonly<Record<string, string>>,
): { readonly signedNames: string; readonly canonical: string } {
  const names = Object.keys(headers).sort();
  const signedNames = names.join(';');
  const query = [...url.searchParams]
    .map(([name, value]) => `${uriEncoded(name)}=${uriEncoded(value)}`)
    .sort()
    .join('&');
  const lines = names.map((name) => `${name}:${headers[name]?.trim().replace(/ +/g, ' ') ?? ''}`);
  const canonical = [method, url.pathname, query, ...lines, '', signedNames, contentHash].join(
    '\n',
  );
  return { signedNames, canonical };
}

function signingKey({ secretAccessKey, region }: S3Credentials, day: string): Buffer {
  const step = (key: string | Buffer, text: string) =>
    createHmac('sha256', key).update(text).digest();
  return step(step(step(step(`AWS4${secretAccessKey}`, day), region), 's3'), 'aws4_request');
}

/** As the signature wants it: all but letters, digits and `-._~`. */
export function uriEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
