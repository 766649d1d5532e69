import type { Value } from '#core/value/value.ts';
import { Pace } from '#database/key-value/pace.ts';
import { numberOf } from '../protocol/json-rpc.ts';
import { jsonValue, type ToolStatement, valueRows } from '../tools/statement-rows.ts';
import type { ToolCall } from '../tools/tool.ts';

/** One record that a leg of a search found. */
export interface Hit {
  /** `#bucket:position` */
  readonly rid: string;
  readonly type: string;
  /** As the index gives it: a distance for dense vectors, else a score. */
  readonly measure: number;
  /** The record as JSON. */
  readonly properties: string;
}

/** The hits of a statement with columns `rid`, `type`, `measure`, `record`, in its order. */
export async function hitsOf(
  call: ToolCall,
  statement: Omit<ToolStatement, 'language' | 'mustRead'>,
): Promise<readonly Hit[]> {
  const { database } = statement;
  const rows = await valueRows(call, { ...statement, language: 'sql', mustRead: true });
  const hits: Hit[] = [];
  // A thousand records with vectors take tens of milliseconds to write.
  const pace = new Pace(call.server.runtime);
  for (const row of rows) {
    hits.push({
      rid: ridText(call, database, row['rid'] ?? null),
      type: String(row['type']),
      measure: numberOf(row['measure']) ?? 0,
      properties: jsonValue(call, database, row['record'] ?? null),
    });
    if (pace.isSpent) await pace.pause();
  }
  return hits;
}

/** A record id as text. */
export function ridText(call: ToolCall, database: string, value: Value): string {
  return String(JSON.parse(jsonValue(call, database, value)));
}

/** Record ids in the order of buckets and positions. */
export function compareRids(a: string, b: string): number {
  const [bucketA = 0, positionA = 0] = a.slice(1).split(':').map(Number);
  const [bucketB = 0, positionB = 0] = b.slice(1).split(':').map(Number);
  return bucketA - bucketB || positionA - positionB;
}
