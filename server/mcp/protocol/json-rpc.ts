import { Decimal, decimalText } from '#core/value/decimal.ts';
import { type Json, joined, quoted } from './long-json.ts';
import { Float, type Value, type ValueMap } from '#core/value/value.ts';

/** Error codes of JSON-RPC 2.0 and of the protocol's resources (mcp.md 1.6). */
export const rpcCode = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
} as const;

export type RpcCode = (typeof rpcCode)[keyof typeof rpcCode];

/** A request that fails as a whole; tools that fail give a result with `isError` instead. */
export class RpcFailure extends Error {
  readonly code: RpcCode;
  /** Of the HTTP answer when nothing but such failures is answered. */
  readonly status: 200 | 403 | 503;

  constructor(code: RpcCode, message: string, status: 200 | 403 | 503 = 200) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** The id of a request as JSON text, every digit kept; undefined for what is no string and no integer. */
export function idText(id: Value | undefined): Json | undefined {
  if (typeof id === 'string') return quoted(id);
  if (typeof id === 'number') return Number.isInteger(id) ? String(id) : undefined;
  if (typeof id === 'bigint') return String(id);
  // Digits beyond 64 bits; a number with a point or an exponent is a `Float` or has a fraction.
  if (id instanceof Decimal && id.scale === 0) return decimalText(id);
  return undefined;
}

export function resultText(id: Json, result: Json): Json {
  return joined('{"jsonrpc":"2.0","id":', id, ',"result":', result, '}');
}

export function errorText(id: Json, code: number, message: string): Json {
  const told = quoted(message);
  return joined('{"jsonrpc":"2.0","id":', id, `,"error":{"code":${code},"message":`, told, '}}');
}

/** An integer that JSON holds as `5` or as `5.0`; undefined for anything else. */
export function integerOf(value: Value | undefined): number | undefined {
  const number = value instanceof Float ? value.number : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** A finite number; undefined for anything else. */
export function numberOf(value: Value | undefined): number | undefined {
  if (value instanceof Float) return Number.isFinite(value.number) ? value.number : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Decimal) return Number(decimalText(value));
  return undefined;
}

export function isObject(value: Value | undefined): value is ValueMap {
  return value instanceof Map;
}
