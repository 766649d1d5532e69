import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHmac } from 'node:crypto';

/*
 * A small S3-compatible storage in memory that believes nothing: it computes the signature and the digest of every request by itself,
 * by the public description of version 4 and not by the code under test.
 */

export const keys = { accessKeyId: 'AKID', secretAccessKey: 'a secret/key+1', region: 'eu-test-1' };

export class S3Double {
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, Map<number, Buffer>>();
  readonly log: string[] = [];
  /** Answers in place of the next requests. */
  readonly faults: (number | 'cut')[] = [];
  readonly #server = createServer((request, response) => {
    void this.#answer(request, response);
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const piece of request) parts.push(piece as Buffer);
    const body = Buffer.concat(parts);
    const url = new URL(request.url ?? '', 'http://storage');
    this.log.push(`${request.method} ${url.pathname}${url.search}`);
    const fault = this.faults.shift();
    if (fault === 'cut') {
      request.socket.destroy();
      return;
    }
    if (fault !== undefined) return refuse(response, fault, 'SlowDown');
    const problem = signatureProblem(request, url, body);
    if (problem !== undefined) return refuse(response, 403, 'SignatureDoesNotMatch', problem);
    this.#carryOut(request.method ?? '', url, body, response);
  }

  #carryOut(
    method: string,
    { pathname, searchParams }: URL,
    body: Buffer,
    response: ServerResponse,
  ) {
    const name = decodeURIComponent(pathname);
    const uploadId = searchParams.get('uploadId');
    if (method === 'POST' && searchParams.has('uploads')) {
      const id = randomUUID();
      this.uploads.set(id, new Map());
      response.end(
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    } else if (uploadId !== null)
      this.#upload(method, name, { uploadId, searchParams, body }, response);
    else if (method === 'PUT') {
      this.objects.set(name, body);
      response.end();
    } else if (method === 'DELETE') {
      this.objects.delete(name);
      response.writeHead(204).end();
    } else {
      const found = this.objects.get(name);
      if (found === undefined) refuse(response, 404, 'NoSuchKey');
      else response.end(found);
    }
  }

  #upload(
    method: string,
    name: string,
    given: { uploadId: string; searchParams: URLSearchParams; body: Buffer },
    response: ServerResponse,
  ): void {
    const upload = this.uploads.get(given.uploadId);
    if (upload === undefined) {
      refuse(response, 404, 'NoSuchUpload');
      return;
    }
    if (method === 'PUT') {
      upload.set(Number(given.searchParams.get('partNumber')), given.body);
      response.setHeader('ETag', `"${md5(given.body)}"`).end();
      return;
    }
    this.uploads.delete(given.uploadId);
    if (method === 'DELETE') {
      response.writeHead(204).end();
      return;
    }
    const listed = [
      ...given.body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)/g),
    ];
    const isWhole = listed.every(
      ([, number, tag], place) =>
        Number(number) === place + 1 &&
        tag === `"${md5(upload.get(place + 1) ?? Buffer.alloc(0))}"`,
    );
    if (!isWhole || listed.length !== upload.size) {
      // As the real ones do: 200, and then an error.
      response.end('<Error><Code>InvalidPart</Code></Error>');
      return;
    }
    this.objects.set(
      name,
      Buffer.concat(listed.map(([, number]) => upload.get(Number(number)) ?? Buffer.alloc(0))),
    );
    response.end('<CompleteMultipartUploadResult/>');
  }
}

function refuse(response: ServerResponse, status: number, code: string, message = ''): void {
  response
    .writeHead(status)
    .end(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
}

function md5(content: Buffer): string {
  return createHash('md5').update(content).digest('hex');
}

function signatureProblem(
  { method, headers }: IncomingMessage,
  url: URL,
  body: Buffer,
): string | undefined {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (found === null) return 'no signature';
  const [, id, day = '', region = '', signed = '', signature] = found;
  if (id !== keys.accessKeyId || region !== keys.region) return 'another key or region';
  for (const needed of ['host', 'x-amz-content-sha256', 'x-amz-date'])
    if (!signed.split(';').includes(needed)) return `${needed} is not signed`;
  const digest = createHash('sha256').update(body).digest('hex');
  if (headers['x-amz-content-sha256'] !== digest) return 'another content';
  const date = String(headers['x-amz-date']);
  if (!/^\d{8}T\d{6}Z$/.test(date) || !date.startsWith(day)) return 'another day';
  const query = url.search
    .slice(1)
    .split('&')
    .filter((part) => part !== '')
    .sort()
    .join('&');
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [method, url.pathname, query, lines.join(''), signed, digest].join('\n');
  const text = `AWS4-HMAC-SHA256\n${date}\n${day}/${region}/s3/aws4_request\n${createHash('sha256').update(canonical).digest('hex')}`;
  let key: string | Buffer = `AWS4${keys.secretAccessKey}`;
  for (const step of [day, region, 's3', 'aws4_request', text])
    key = createHmac('sha256', key).update(step).digest();
  return key.toString('hex') === signature ? undefined : 'another signature';
}
