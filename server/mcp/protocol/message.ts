import type { Value, ValueMap } from '#core/value/value.ts';
import type { Json } from './long-json.ts';
import { idText, isObject, rpcCode, RpcFailure } from './json-rpc.ts';

/** A request that is to be answered, taken apart; `problem` is set for one that is refused for its form. */
export interface RpcRequest {
  /** JSON text; `null` when the id is none. */
  readonly id: Json;
  readonly method: string;
  readonly params: ValueMap;
  readonly problem: RpcFailure | undefined;
}

const noParams: ValueMap = new Map();
const noId = 'null';

/** What a message asks for; undefined for notifications and responses, which are never answered (mcp.md 1.1, 9 and 10). */
export function requestOf(message: Value): RpcRequest | undefined {
  if (!isObject(message)) return refused(noId, 'Invalid Request: a message must be an object');
  const hasMethod = message.has('method');
  if (!hasMethod && (message.has('result') || message.has('error'))) return undefined;
  if (hasMethod && !message.has('id')) return undefined;
  const id = idText(message.get('id'));
  if (id === undefined) return refused(noId, 'Invalid Request: id must be a string or an integer');
  if (message.get('jsonrpc') !== '2.0')
    return refused(id, "Invalid Request: 'jsonrpc' must be '2.0'");
  const method = message.get('method');
  if (typeof method !== 'string') return refused(id, "Invalid Request: 'method' must be a string");
  const params = message.get('params');
  if (params !== undefined && !isObject(params))
    return refused(id, "Invalid Request: 'params' must be an object");
  return { id, method, params: params ?? noParams, problem: undefined };
}

function refused(id: Json, message: string): RpcRequest {
  const problem = new RpcFailure(rpcCode.invalidRequest, message);
  return { id, method: '', params: noParams, problem };
}
