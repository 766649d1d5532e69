import { serverHttpJsonMaxDepth } from '#config/server-settings.ts';
import { queryMaxNumberDigits, queryMaxNumberExponent } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { parseJsonInSlices } from '#core/value/json-slices.ts';
import { type JsonLimits, parseJsonBytes } from '#core/value/json-value.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { Exchange } from '../answer/exchange.ts';
import { HttpRefusal } from '../answer/errors.ts';

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

/** True for bodies that take longer than a slice to parse; those go through `parseLongJsonObject`. */
export function isLongBody(bytes: Uint8Array): boolean {
  return bytes.length > 128 * 1024;
}

/** As `parseJsonObject`, for bodies of any length. */
export async function parseAnyJsonObject(
  exchange: Exchange,
  bytes: Uint8Array,
  rules: JsonBodyRules,
): Promise<ValueMap> {
  return isLongBody(bytes)
    ? parseLongJsonObject(exchange, bytes, rules)
    : parseJsonObject(exchange, bytes, rules);
}

/** As `parseJsonObject`, giving others a turn now and then. */
export async function parseLongJsonObject(
  exchange: Exchange,
  bytes: Uint8Array,
  rules: JsonBodyRules,
): Promise<ValueMap> {
  const { invalidStatus } = rules;
  const limits = { ...limitsOf(exchange), hold: (bytes: number) => exchange.hold(bytes) };
  const { depthMax } = limits;
  const slices = new SliceTimer(exchange.door.runtime);
  const value = await parseJsonInSlices(bytes, limits, slices).catch((error: unknown) => {
    throw refusalOfJson(error, depthMax, invalidStatus);
  });
  if (value instanceof Map) return value as ValueMap;
  throw invalidJson(invalidStatus, 'the body must be a JSON object');
}

function parse(exchange: Exchange, bytes: Uint8Array, invalidStatus: 400 | 500): Value {
  const limits = limitsOf(exchange);
  try {
    return parseJsonBytes(bytes, limits);
  } catch (error) {
    throw refusalOfJson(error, limits.depthMax, invalidStatus);
  }
}

function limitsOf(exchange: Exchange): JsonLimits {
  const { settings } = exchange.door;
  const depthMax = settings.get(serverHttpJsonMaxDepth);
  const numbers = {
    digitsMax: settings.get(queryMaxNumberDigits),
    exponentMax: settings.get(queryMaxNumberExponent),
  };
  return { depthMax, numbers };
}

function refusalOfJson(error: unknown, depthMax: number, status: 400 | 500): unknown {
  if (!(error instanceof DatabaseError) || error.code === 'Busy') return error;
  if (!error.message.includes('nested deeper')) return invalidJson(status, error.message);
  return new HttpRefusal({
    status,
    error: `JSON nesting exceeds ${depthMax} levels`,
    detail: `${serverHttpJsonMaxDepth.key} is ${depthMax}`,
    exception: 'JSONException',
  });
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
