import { mcpMaxResultSize } from '#config/mcp-settings.ts';
import type { Effect } from '#core/effects.ts';
import type { Slices } from '#core/value/json-slices.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { RenderedRows, ResultStream, RunOptions } from '#database/session.ts';
import { planFields } from '#http/answer/explained-plan.ts';
import { pieceBytes } from '#http/answer/json-pieces.ts';
import { JsonWriter, NameCache } from '#http/answer/json-writer.ts';
import { statementParameters } from '#http/request/typed-parameters.ts';
import { JsonRowRenderer } from '#http/serializers/json-row-renderer.ts';
import { ColumnTemplates } from '#http/serializers/record.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import { decoded, type Pieces } from '../protocol/long-json.ts';
import { ToolFailure } from './tool-failure.ts';
import { tellRows, type ToolCall } from './tool.ts';

const names = new NameCache();
const templates = new ColumnTemplates();
const rowForm = { layout: 'list', typeHints: false, counts: false } as const;
/** Some 100 microseconds of ordinary rows. */
const rowsPerCheck = 16;
const firstCapacity = 1024;
const parameterDepthMax = 64;

/** A statement that a tool runs under its caller's rights. */
export interface ToolStatement {
  readonly database: string;
  readonly language: string;
  readonly text: string;
  readonly parameters?: ReadonlyMap<string, Value>;
  /** Refused unless it only reads. */
  readonly mustRead: boolean;
  readonly rowCountMax: number;
  /** Told what it does before it begins; absent for statements of our own. May throw. */
  readonly judge?: (effects: ReadonlySet<Effect>) => void;
}

export interface JsonRows {
  /** A JSON array. */
  readonly json: Pieces;
  readonly count: number;
  /** The plan of an EXPLAIN or PROFILE and `warnings` (house decision 80), each behind a comma. */
  readonly told: string;
}

/** Parameters as `POST /query` takes them: typed markers are values. */
export function parametersOf(map: ValueMap | undefined): ReadonlyMap<string, Value> {
  return statementParameters(map, parameterDepthMax);
}

/** The rows of a statement in the layout of serializer `record`. @throws ToolFailure above `mcp.maxResultSize` */
export async function jsonRows(call: ToolCall, statement: ToolStatement): Promise<JsonRows> {
  const database = call.server.databases.open(statement.database);
  const most = rowsAllowed(call, statement.database, statement.rowCountMax);
  const stream = await started(call, { ...statement, rowCountMax: most });
  try {
    const writer = new JsonWriter(database.formats(), firstCapacity, names);
    const bytesMax = call.server.settings.get(mcpMaxResultSize);
    const rows = stream.rendered(new JsonRowRenderer(writer, rowForm, stream, templates), most);
    const slices = new SliceTimer(call.server.runtime);
    writer.ascii('[');
    await writeAll(rows, slices, () => requireRoom(writer, bytesMax));
    writer.ascii(']');
    const count = rows.rowCount;
    tellRows(call, count);
    const { warnings, explain } = stream.summary();
    const plan = explain === undefined ? '' : planFields(explain);
    return {
      json: await decoded(writer.take(0), slices),
      count,
      told: warnings === undefined ? plan : `${plan},"warnings":${JSON.stringify(warnings)}`,
    };
  } finally {
    stream.close();
  }
}

/** The rows of a short statement of our own, by column; what is answered of them is for `rowsAllowed` to say. */
export async function valueRows(
  call: ToolCall,
  statement: ToolStatement,
): Promise<readonly Readonly<Record<string, Value>>[]> {
  const stream = await started(call, statement);
  try {
    const { shape } = stream;
    const columns = shape.kind === 'columns' ? shape.names : ['value'];
    const rows: Record<string, Value>[] = [];
    for (let batch = await stream.nextBatch(); batch; batch = await stream.nextBatch())
      for (let row = 0; row < batch.rowCount && rows.length < statement.rowCountMax; row++)
        rows.push(
          Object.fromEntries(
            columns.map((name, at) => [name, batch?.values[row * columns.length + at] ?? null]),
          ),
        );
    return rows;
  } finally {
    stream.close();
  }
}

/** One value as JSON, records whole. */
export function jsonValue(call: ToolCall, database: string, value: Value): string {
  const { databases } = call.server;
  const writer = new JsonWriter(databases.open(database).formats(), firstCapacity, names);
  writer.value(value);
  return writer.take(0).toString('utf8');
}

async function started(call: ToolCall, statement: ToolStatement): Promise<ResultStream> {
  const { databases, authorizer } = call.server;
  const { principal, requestId, signal } = call.caller;
  const { readTimeoutMs } = authorizer.limitsOf(principal, statement.database);
  const { language, text, parameters = new Map<string, Value>(), rowCountMax } = statement;
  const options: RunOptions = {
    principal,
    requestId,
    signal,
    mustBeIdempotent: statement.mustRead,
    rowCountMax,
    limitedRowCountMax: rowCountMax,
    ...(readTimeoutMs >= 0 && { readTimeoutMs }),
    ...(statement.judge && { judge: statement.judge }),
  };
  return databases.open(statement.database).run({ language, text, parameters }, options);
}

/** As many records as were asked for, and no more than the groups of the caller allow (`resultSetLimit`). */
export function rowsAllowed({ server, caller }: ToolCall, database: string, asked: number): number {
  const { resultSetLimit } = server.authorizer.limitsOf(caller.principal, database);
  return resultSetLimit < 0 ? asked : Math.min(asked, resultSetLimit);
}

/** @param check called as often as some bytes were written */
async function writeAll(rows: RenderedRows, slices: Slices, check: () => void): Promise<void> {
  for (;;) {
    const pause = rows.write({ bytes: pieceBytes, rows: rowsPerCheck });
    check();
    if (pause === 'end') return;
    if (slices.isSpent) await slices.pause();
    if (pause === 'long')
      for (const _ of rows.longRow()) {
        check();
        if (slices.isSpent) await slices.pause();
      }
    if (pause === 'batch' && !(await rows.pull())) return;
  }
}

function requireRoom(writer: JsonWriter, bytesMax: number): void {
  if (writer.length > bytesMax)
    throw new ToolFailure(
      `the result is larger than ${mcpMaxResultSize.key}, ${bytesMax} bytes: ask for fewer records or columns`,
    );
}
