import type { Duplex } from 'node:stream';
import { refusalBody } from './errors.ts';
import type { Refusal } from './errors.ts';

// What node:http could not read as a request: there is no request object, so the answer is written by hand (limits.md 24, 27).

const reasonOf: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
  505: 'HTTP Version Not Supported',
};

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
export function answerByHand(refusal: Refusal, socket: Duplex, requestId: string): void {
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
  for (let at = 0; at < headers.length; at += 2) head.push(`${headers[at]}: ${headers[at + 1]}`);
  socket.end(`${head.join('\r\n')}\r\n\r\n${body.toString()}`);
}

/** What is answered to bytes that are no request. */
export function refusalOfParser(error: ParserError): Refusal {
  const packet = error.rawPacket;
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return isPathOverflow(error) ? pathTooLong : tooManyHeaders;
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

/**
 * Whether the line that overflows is the request line. Only the last packet is known, so a line of more than one is judged by
 * its look: long paths are percent-encoded, and who sees the end of one sees the version.
 */
function isPathOverflow({ rawPacket, bytesParsed }: ParserError): boolean {
  const text = rawPacket?.toString('latin1') ?? '';
  const parsed = text.slice(0, bytesParsed);
  if (parsed.includes('\n')) return false;
  const line = text.split('\n', 1)[0] ?? '';
  return /^[A-Z]+ \S*$|%[\da-f]{2}| HTTP\/\d\.\d\r?$/i.test(line);
}

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
