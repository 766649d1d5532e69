import type { Duplex } from 'node:stream';
import { refusalBody } from './errors.ts';
import type { Refusal } from './errors.ts';

// What node:http could not read as a request: there is no request object, so the answer is written by hand (limits.md 24, 27).

const reasonOf: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
  505: 'HTTP Version Not Supported',
};

/** As node:http reports it. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/** Answers and closes. */
export function answerClientError(error: ParserError, socket: Duplex, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = refusalOfParser(error);
  const body = refusalBody(refusal, requestId, false);
  const head = [
    `HTTP/1.1 ${refusal.status} ${reasonOf[refusal.status]}`,
    'Content-Type: application/json',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body.toString()}`);
}

function refusalOfParser(error: ParserError): Refusal {
  const packet = error.rawPacket;
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    // When not even the first line ended, it is the path that is too long.
    const isFirstLine = packet !== undefined && !packet.includes('\n');
    return isFirstLine
      ? { status: 414, error: 'URI too long' }
      : { status: 431, error: 'Headers too large', detail: 'service.server.httpHeaderMaxSize' };
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, error: 'Request timeout', detail: 'service.server.httpHeadersTimeout' };
  // The parser's own code says the same of a line that ends without CR.
  if (isOtherVersion(packet)) return { status: 505, error: 'HTTP version not supported' };
  return { status: 400, error: 'Malformed HTTP request', detail: error.code };
}

function isOtherVersion(packet: Buffer | undefined): boolean {
  const line = packet?.subarray(0, 20_000).toString('latin1').split(/\r?\n/, 1)[0] ?? '';
  return /^[A-Z]+ \S+ HTTP\/\d/.test(line) && !/HTTP\/1\.[01]$/.test(line);
}
