import { serverHttpJsonMaxDepth } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { parseJsonBytes } from '#core/json-value.ts';
import type { Value, ValueMap } from '#core/value.ts';
import type { Exchange } from './exchange.ts';
import { HttpRefusal } from './errors.ts';

/** How an endpoint answers what is no JSON object: 500 where the contract says so (POST /server, POST /begin), else 400. */
export interface JsonBodyRules {
  readonly invalidStatus: 400 | 500;
  /** Whether no body at all means an object without fields. */
  readonly mayBeEmpty: boolean;
}

const empty: ValueMap = new Map();

/** The body as a JSON object. @throws HttpRefusal by the rules, and what reading the body throws */
export function parseJsonObject(
  exchange: Exchange,
  bytes: Uint8Array,
  rules: JsonBodyRules,
): ValueMap {
  const { invalidStatus, mayBeEmpty } = rules;
  if (mayBeEmpty && isBlank(bytes)) return empty;
  const value = parse(exchange, bytes, invalidStatus);
  if (value instanceof Map) return value as ValueMap;
  throw invalidJson(invalidStatus, 'the body must be a JSON object');
}

function parse(exchange: Exchange, bytes: Uint8Array, invalidStatus: 400 | 500): Value {
  const depthMax = exchange.door.settings.get(serverHttpJsonMaxDepth);
  try {
    return parseJsonBytes(bytes, { depthMax });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    if (!error.message.includes('nested deeper')) throw invalidJson(invalidStatus, error.message);
    throw new HttpRefusal({
      status: invalidStatus,
      error: `JSON nesting exceeds ${depthMax} levels`,
      detail: `${serverHttpJsonMaxDepth.key} is ${depthMax}`,
      exception: 'JSONException',
    });
  }
}

function invalidJson(status: 400 | 500, detail: string): HttpRefusal {
  return new HttpRefusal({
    status,
    error: 'Invalid JSON payload',
    detail,
    exception: 'JSONException',
  });
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 32 || byte === 9 || byte === 10 || byte === 13);
}
