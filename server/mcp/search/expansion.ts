import { schemaTypes } from '../content/schema-document.ts';
import { isObject } from '../protocol/json-rpc.ts';
import { Arguments } from '../tools/arguments.ts';
import { valueRows } from '../tools/statement-rows.ts';
import { ToolFailure } from '../tools/tool-failure.ts';
import type { ToolCall } from '../tools/tool.ts';
import { ridText } from './hit.ts';
import { quotedText } from './search-index.ts';

/* The graph leg of a hybrid search: what stands around the best hits of the others (contract 2, tool rule 6; mcp.md 4.8). */

const directions = ['out', 'in', 'both'] as const;
export type Direction = (typeof directions)[number];
const depthBounds = { min: 1, max: 3 };
const seedsMax = 256;
const foundMax = 2000;
/** Steps that one level looks at, those to known vertices too. */
const stepsMax = 50_000;

export interface Expansion {
  readonly edgeTypes: readonly string[];
  readonly direction: Direction;
  readonly maxDepth: number;
}

/** @throws ToolFailure */
export function expansionOf(given: Arguments): Expansion | undefined {
  const value = given.value('expand');
  if (value === undefined) return undefined;
  if (!isObject(value)) throw new ToolFailure("'expand' must be an object");
  const fields = new Arguments(value);
  const direction = (fields.text('direction') ?? 'out').toLowerCase();
  const known = directions.find((name) => name === direction);
  if (known === undefined) throw new ToolFailure(`'direction' must be ${directions.join(', ')}`);
  const edgeTypes = [...new Set(fields.texts('edgeTypes') ?? [])];
  for (const name of edgeTypes)
    if (/['"`\\]/.test(name)) throw new ToolFailure("'edgeTypes' holds a quote or a backslash");
  const maxDepth = fields.integer('maxDepth', depthBounds) ?? depthBounds.min;
  return { edgeTypes, direction: known, maxDepth };
}

export interface Expanded {
  readonly rids: readonly string[];
  /** From a seed to the record itself. */
  readonly paths: ReadonlyMap<string, readonly string[]>;
  readonly truncated: boolean;
  readonly seedCount: number;
  readonly seedsTruncated: boolean;
}

/** Breadth first from the seeds, which are the ranks of the legs taken in turns. @throws ToolFailure for unknown edge types */
export async function expanded(
  call: ToolCall,
  database: string,
  asked: { readonly expansion: Expansion; readonly ranks: readonly (readonly string[])[] },
): Promise<Expanded> {
  const { expansion, ranks } = asked;
  await requireEdgeTypes(call, database, expansion.edgeTypes);
  const { seeds, isCut } = seedsOf(ranks);
  const paths = new Map<string, readonly string[]>(seeds.map((rid) => [rid, [rid]]));
  const found: string[] = [];
  let isTruncated = false;
  let level = seeds;
  for (let depth = 0; depth < expansion.maxDepth && level.length > 0; depth++) {
    const next: string[] = [];
    for (const { from, to } of await stepsFrom(call, { database, level, expansion })) {
      if (paths.has(to)) continue;
      if (found.length >= foundMax) {
        isTruncated = true;
        break;
      }
      paths.set(to, [...(paths.get(from) ?? []), to]);
      found.push(to);
      next.push(to);
    }
    if (isTruncated) break;
    level = next;
  }
  return {
    rids: found,
    paths,
    truncated: isTruncated,
    seedCount: seeds.length,
    seedsTruncated: isCut,
  };
}

function seedsOf(ranks: readonly (readonly string[])[]) {
  const seeds = new Set<string>();
  const length = Math.max(0, ...ranks.map((rank) => rank.length));
  for (let at = 0; at < length; at++)
    for (const rank of ranks) {
      const rid = rank[at];
      if (rid === undefined || seeds.has(rid)) continue;
      if (seeds.size >= seedsMax) return { seeds: [...seeds], isCut: true };
      seeds.add(rid);
    }
  return { seeds: [...seeds], isCut: false };
}

async function stepsFrom(
  call: ToolCall,
  asked: {
    readonly database: string;
    readonly level: readonly string[];
    readonly expansion: Expansion;
  },
): Promise<readonly { readonly from: string; readonly to: string }[]> {
  const { database, level, expansion } = asked;
  const names = expansion.edgeTypes.map(quotedText).join(', ');
  const rows = await valueRows(call, {
    database,
    language: 'sql',
    text: `SELECT source, target.@rid AS target FROM (SELECT @rid AS source, ${expansion.direction}(${names}) AS target FROM [${level.join(', ')}] UNWIND target) LIMIT ${stepsMax}`,
    mustRead: true,
    rowCountMax: stepsMax,
  });
  return rows
    .filter((row) => row['target'] !== null)
    .map((row) => ({
      from: ridText(call, database, row['source'] ?? null),
      to: ridText(call, database, row['target'] ?? null),
    }));
}

async function requireEdgeTypes(
  call: ToolCall,
  database: string,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  const types = await schemaTypes(call, database);
  const edges = types.filter(({ category }) => category === 'edge').map(({ name }) => name);
  for (const name of names)
    if (!edges.includes(name))
      throw new ToolFailure(
        `Edge type '${name}' does not exist; available: ${edges.join(', ') || 'there is none'}`,
      );
}
