import { request as plainRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import type { S3Credentials } from './signature.ts';
import { sha256, signedHeaders, uriEncoded } from './signature.ts';
import type { ArchiveStore } from './stored.ts';

/*
 * Archives in a bucket of any S3-compatible storage, addressed by path. Content of unknown length goes in parts; each part is
 * signed with its digest, so what arrives damaged is refused. One part is held in memory.
 */

export interface S3Options {
  readonly endpoint: string;
  readonly bucket: string;
  readonly credentials: S3Credentials;
  /** Certificate authority of an endpoint that is not publicly trusted. */
  readonly authority?: string | undefined;
  /** Of the first parts; later ones are larger, since there are at most 10,000. */
  readonly partBytes?: number;
  /** Milliseconds since 1970; signatures hold the time. */
  readonly now: () => number;
  /** Before each repetition of a request that failed in passing. */
  readonly pauseMs?: number;
}

interface Wanted {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly content?: Uint8Array;
}

const standardPartBytes = 16 * 1024 * 1024;
const partBytesMax = 256 * 1024 * 1024;
/** Parts of one size; then it doubles. */
const partsOfOneSize = 1000;
const attemptsMax = 5;
const answerBytesMax = 1024 * 1024;
const idleMs = 120_000;
const empty = new Uint8Array();

export class S3Store implements ArchiveStore {
  readonly #options: S3Options;

  constructor(options: S3Options) {
    this.#options = options;
  }

  async write(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const parts = this.#parts(pieces)[Symbol.asyncIterator]();
    const first = await parts.next();
    const content = first.done ? empty : first.value;
    const second = first.done ? first : await parts.next();
    if (second.done) {
      await this.#told({ method: 'PUT', name, content });
      return;
    }
    const answer = await this.#told({ method: 'POST', name, query: { uploads: '' } });
    const uploadId = textOf(answer, 'UploadId');
    if (uploadId === undefined) throw new Error('the storage gave no UploadId for an upload');
    try {
      const tags = [await this.#part(name, uploadId, 1, content)];
      let part: IteratorResult<Uint8Array> = second;
      while (!part.done) {
        tags.push(await this.#part(name, uploadId, tags.length + 1, part.value));
        part = await parts.next();
      }
      await this.#complete(name, uploadId, tags);
    } catch (error) {
      // Parts that nobody completes cost money until somebody deletes them.
      await this.#told({ method: 'DELETE', name, query: { uploadId } }).catch(() => {});
      throw error;
    }
  }

  async read(name: string): Promise<AsyncIterable<Uint8Array>> {
    return this.#repeated(async () => {
      const response = await this.#send({ method: 'GET', name });
      if (response.statusCode === 200) return wholeOf(response);
      throw await refusalOf('GET', name, response);
    });
  }

  async delete(name: string): Promise<void> {
    await this.#told({ method: 'DELETE', name });
  }

  async #part(name: string, uploadId: string, number: number, content: Uint8Array) {
    const query = { partNumber: String(number), uploadId };
    return this.#repeated(async () => {
      const response = await this.#send({ method: 'PUT', name, query, content });
      const tag = response.headers.etag;
      if (response.statusCode !== 200 || tag === undefined)
        throw await refusalOf('PUT', name, response);
      await bodyOf(response);
      return tag;
    });
  }

  async #complete(name: string, uploadId: string, tags: readonly string[]): Promise<void> {
    const list = tags
      .map((tag, place) => `<Part><PartNumber>${place + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
      .join('');
    const content = Buffer.from(
      `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`,
      'utf8',
    );
    const answer = await this.#told({ method: 'POST', name, query: { uploadId }, content });
    // It is answered 200 before it is known whether it went well.
    if (answer.includes('<Error>')) throw new Error(`the storage refused ${name}: ${said(answer)}`);
  }

  /** The content in parts that may be sent. */
  async *#parts(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    let size = this.#options.partBytes ?? standardPartBytes;
    let [held, bytes, count]: [Uint8Array[], number, number] = [[], 0, 0];
    for await (const piece of pieces) {
      let rest = piece;
      while (bytes + rest.length >= size) {
        const end = size - bytes;
        yield Buffer.concat([...held, rest.subarray(0, end)]);
        [held, bytes, rest, count] = [[], 0, rest.subarray(end), count + 1];
        if (count % partsOfOneSize === 0) size = Math.min(size * 2, partBytesMax);
      }
      if (rest.length === 0) continue;
      held.push(rest);
      bytes += rest.length;
    }
    if (bytes > 0) yield Buffer.concat(held);
  }

  async #told(wanted: Wanted): Promise<string> {
    return this.#repeated(async () => {
      const response = await this.#send(wanted);
      const { statusCode: status = 0 } = response;
      const isGone = wanted.method === 'DELETE' && status === 404;
      if (status >= 300 && !isGone) throw await refusalOf(wanted.method, wanted.name, response);
      return bodyOf(response);
    });
  }

  /** What failed in passing is asked again. */
  async #repeated<T>(ask: () => Promise<T>): Promise<T> {
    const { pauseMs = 1000 } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await ask();
      } catch (error) {
        if (attempt === attemptsMax || (error instanceof StorageRefusal && !error.mayPass))
          throw error;
        await pause(pauseMs * 2 ** (attempt - 1));
      }
    }
  }

  #send({ method, name, query = {}, content = empty }: Wanted): Promise<IncomingMessage> {
    const { endpoint, bucket, credentials, authority } = this.#options;
    const base = endpoint.replace(/\/+$/, '');
    const path = [bucket, ...name.split('/')].map(uriEncoded).join('/');
    const url = new URL(`${base}/${path}`);
    url.search = Object.entries(query)
      .map(([key, value]) => `${uriEncoded(key)}=${uriEncoded(value)}`)
      .join('&');
    const unsigned = { method, url, contentHash: sha256(content) };
    const headers = { ...signedHeaders(unsigned, credentials, this.#options.now()) };
    const isSecure = url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const sent = (isSecure ? secureRequest : plainRequest)(url, {
        method,
        headers: { ...headers, 'content-length': content.length },
        agent: false,
        timeout: idleMs,
        ...(authority === undefined ? undefined : { ca: authority }),
      });
      sent.on('timeout', () => sent.destroy(new Error('the storage does not answer')));
      sent.on('error', reject);
      sent.on('response', resolve);
      sent.end(content);
    });
  }
}

class StorageRefusal extends Error {
  readonly mayPass: boolean;

  constructor(message: string, mayPass: boolean) {
    super(message);
    this.mayPass = mayPass;
  }
}

async function refusalOf(
  method: string,
  name: string,
  response: IncomingMessage,
): Promise<StorageRefusal> {
  const { statusCode: status = 0 } = response;
  const why = said(await bodyOf(response).catch(() => ''));
  const mayPass = status >= 500 || status === 429 || status === 408;
  return new StorageRefusal(
    `the storage answered ${status} to ${method} ${name}${why === '' ? '' : `: ${why}`}`,
    mayPass,
  );
}

function said(answer: string): string {
  const [code, message] = [textOf(answer, 'Code'), textOf(answer, 'Message')];
  return [code, message].filter((part) => part !== undefined).join(': ');
}

function textOf(answer: string, element: string): string | undefined {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(answer)?.[1];
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    text += String(piece);
    if (text.length > answerBytesMax) throw new Error('the answer of the storage is too long');
  }
  return text;
}

/** An answer that ends before its length is none. */
async function* wholeOf(response: IncomingMessage): AsyncIterable<Uint8Array> {
  for await (const piece of response) yield piece as Uint8Array;
  if (!response.complete) throw new Error('the storage cut its answer off');
}
