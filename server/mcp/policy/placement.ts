import type { Value } from '#core/value/value.ts';
import { isObject } from '../protocol/json-rpc.ts';

/** Tools that write into databases; those that concern the server itself are for the one that is asked. */
const writingTools: ReadonlySet<string> = new Set([
  'execute_command',
  'upsert_entity',
  'upsert_relationship',
]);

/** Whether a message, or one of a batch, is for the leader of the cluster (ha.md 6.6). */
export function callsLeader(message: Value): boolean {
  if (Array.isArray(message)) return (message as readonly Value[]).some(callsLeader);
  if (!isObject(message) || message.get('method') !== 'tools/call') return false;
  const params = message.get('params');
  const name = isObject(params) ? params.get('name') : undefined;
  return typeof name === 'string' && writingTools.has(name);
}
