import type { Duplex } from 'node:stream';
import { refusalBody } from '../answer/errors.ts';
import type { Refusal } from '../answer/errors.ts';

// What node:http could not read as a request: there is no request object, so the answer is written by hand (limits.md 24, 27).

const reasonOf: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

/** What node:http says when the headers of a request are longer than allowed. */
export const overflowCode = 'HPE_HEADER_OVERFLOW';

/** As node:http reports it. */
export interface ParserError extends Error {
  readonly code?: string;
  /** What was received last, and how much of it was read as a request. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** A method that nothing has, also one that node:http does not know. */
export const unknownMethod: Refusal = {
  status: 405,
  error: 'Method not allowed',
  headers: ['Allow', 'GET, HEAD, POST, PUT, DELETE, OPTIONS'],
};

/** Answers and closes, where there is no response object. */
export function answerByHand(
  refusal: Refusal,
  socket: Duplex,
  requestId: string,
  /** What is applied here, with replication; 0: nothing. */
  bookmark = 0,
): void {
  const body = refusalBody(refusal, requestId, false);
  const { headers = [] } = refusal;
  const head = [
    `HTTP/1.1 ${refusal.status} ${reasonOf[refusal.status]}`,
    'Content-Type: application/json',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  if (bookmark > 0) head.push(`X-Service-Commit-Index: ${bookmark}`);
  for (let at = 0; at < headers.length; at += 2) head.push(`${headers[at]}: ${headers[at + 1]}`);
  socket.end(`${head.join('\r\n')}\r\n\r\n${body.toString()}`);
}

/** What is answered to bytes that are no request. */
export function refusalOfParser(error: ParserError): Refusal {
  const packet = error.rawPacket;
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, error: 'Request timeout', detail: 'service.server.httpHeadersTimeout' };
  // The parser's own code says the same of a line that ends without CR.
  if (isOtherVersion(packet)) return { status: 505, error: 'HTTP version not supported' };
  if (error.code === 'HPE_INVALID_METHOD' && isOtherMethod(error)) return unknownMethod;
  return { status: 400, error: 'Malformed HTTP request', detail: error.code };
}

const pathTooLong: Refusal = { status: 414, error: 'URI too long' };
const tooManyHeaders: Refusal = {
  status: 431,
  error: 'Headers too large',
  detail: 'service.server.httpHeaderMaxSize, service.server.httpHeaderMaxCount',
};

/** Of all connections together. */
export const tooMuchHeaders: Refusal = {
  status: 503,
  error: 'Server busy',
  detail:
    'headers that are not complete take more than service.server.httpMaxPendingHeaders on all connections',
  exception: 'ServerBusyException',
};

/** How much of a line is waited for, beyond what is read of headers, until it is refused without its end. */
const lineBytesMax = 32 * 1024 * 1024;

/**
 * A line that is longer than all headers may be. The parser tells neither which one it is nor what came before its last
 * packet, but its end does: behind a path stands the version. Until then the client is sending and would not see an answer.
 */
export class OverlongLine {
  #end = '';
  #length = 0;

  /** Looks at another packet. @returns what is to be answered, as soon as that is known */
  refusalAfter({ rawPacket, code }: ParserError): Refusal | undefined {
    if (code !== overflowCode || rawPacket === undefined) return tooManyHeaders;
    const at = rawPacket.indexOf(lineFeed);
    const line = at < 0 ? rawPacket : rawPacket.subarray(0, at);
    // The request is whole in its last packet, so it is short, and the headers behind it are not.
    if (this.#length === 0 && at > 0 && isShortRequestLine(line)) return tooManyHeaders;
    this.#length += rawPacket.length;
    this.#end = (this.#end + line.subarray(-versionLength).toString('latin1')).slice(
      -versionLength,
    );
    if (at < 0) return this.#length > lineBytesMax ? tooManyHeaders : undefined;
    return / HTTP\/\d\.\d\r?$/.test(this.#end) ? pathTooLong : tooManyHeaders;
  }
}

function isShortRequestLine(line: Buffer): boolean {
  return line.length <= packetBytes / 4 && /^[A-Z]+ /.test(line.toString('latin1', 0, 20));
}

/** What node:http reads at once. */
const packetBytes = 64 * 1024;
const lineFeed = 10;
const versionLength = ' HTTP/1.1\r'.length;

/** The method stands where the parser stopped, perhaps behind other requests in the same packet. */
function isOtherMethod({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  if (rawPacket === undefined) return false;
  let start = bytesParsed;
  while (start > 0 && isOfMethod(rawPacket[start - 1] as number)) start -= 1;
  const text = rawPacket.subarray(start, start + 20_000).toString('latin1');
  const line = text.split('\r\n', 1)[0] ?? '';
  return /^[A-Z][A-Z-]* \/\S* HTTP\/1\.[01]$/.test(line);
}

function isOfMethod(byte: number): boolean {
  return (byte >= 65 && byte <= 90) || byte === 45;
}

function isOtherVersion(packet: Buffer | undefined): boolean {
  const line = packet?.subarray(0, 20_000).toString('latin1').split(/\r?\n/, 1)[0] ?? '';
  return /^[A-Z]+ \S+ HTTP\/\d/.test(line) && !/HTTP\/1\.[01]$/.test(line);
}
