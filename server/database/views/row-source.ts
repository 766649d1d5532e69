import type { Catalog } from '#catalog/catalog.ts';
import type { ViewDefinition } from '#catalog/definitions.ts';
import {
  type IntegerWidth,
  type IntegerWidths,
  isIntegerWidth,
  withWidths,
} from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { EmbeddedDocument, isMap, isRecord, type Value, type ValueMap } from '#core/value/value.ts';
import { rewritePlan } from '#query/algebra/plan-walk.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import { slotsOfOutput } from '#query/algebra/walk.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { CompiledStatement } from '../statement/compiled-statement.ts';
import type { StatementMemory } from '../bounds/memory-accounts.ts';
import { PlanExecution } from '../statement/plan-execution.ts';
import type { RefreshServices } from './refresh-services.ts';

/** Name of the parameter that holds the ids of changed records; no text can write it. */
const changedRecords = '#changed';

/** A row of a view's query, and the record it was made from when the query is simple. */
export interface SourcedRow {
  readonly properties: ValueMap;
  readonly source: Rid | undefined;
}

/**
 * The program that gives the rows of a simple query with the record of each row behind its columns; of all records, or of those
 * in the parameter alone. undefined when the query is not so simple (any more).
 */
export function sourcedProgram(
  program: QueryProgram,
  ofChangedOnly: boolean,
): QueryProgram | undefined {
  let source: LogicalPlan = program.plan;
  while (source.op === 'Project' || source.op === 'Filter') source = source.input;
  if (source.op !== 'TypeScan') return undefined;
  const scan = source;
  const lookup: LogicalPlan = {
    op: 'RecordLookup',
    rids: { op: 'Parameter', name: changedRecords },
    as: scan.as,
    types: scan.types,
  };
  const plan = ofChangedOnly
    ? rewritePlan(program.plan, (node) => (node.op === 'TypeScan' ? lookup : node))
    : program.plan;
  const { output } = program;
  const names = output.kind === 'columns' ? output.columns.map(({ name }) => name) : [wholeRow];
  const slots = [...slotsOfOutput(output), scan.as];
  const known = output.kind === 'columns' ? output.columns : [];
  const columns = slots.map((slot, at) => ({ ...known[at], name: names[at] ?? 'source', slot }));
  return { ...program, plan, output: { kind: 'columns', columns } };
}

/** The one column of a query without columns of its own. */
const wholeRow = '';

/**
 * Runs the query of a view slice by slice.
 * @param changed only the rows of these records, of a simple view
 * @param each called for every row, in order
 * @param pause called between batches; may throw
 */
export async function forEachRow(
  view: ViewDefinition,
  services: RefreshServices,
  about: {
    readonly source: ReadView;
    readonly changed: readonly Value[] | undefined;
    readonly memory: StatementMemory;
    readonly check: () => void;
    readonly pause: () => Promise<void>;
  },
  each: (row: SourcedRow) => void,
): Promise<void> {
  const { source, changed, memory, check, pause } = about;
  const sourced = view.isSimple
    ? services.compileSourced(view.query, source, changed !== undefined)
    : undefined;
  const compiled = sourced ?? services.compile(view.query, source);
  const instance = compiled.take();
  const { root, context } = instance;
  context.enter({
    view: source,
    transaction: undefined,
    parameters: changed === undefined ? new Map() : new Map([[changedRecords, changed]]),
    limits: services.limits(),
    memory,
    deadlineMs: Number.POSITIVE_INFINITY,
    rowCap: undefined,
  });
  const execution = new PlanExecution({
    root,
    context,
    outputSlots: compiled.outputSlots,
    timers: services.runtime.timers,
    watch: { startedMs: services.runtime.clock.monotonicMs(), check },
    rowCountMax: Number.POSITIVE_INFINITY,
  });
  const rowOf = rowMaker(compiled, source, sourced !== undefined);
  const width = compiled.outputSlots.length;
  try {
    for (;;) {
      const batch = await execution.nextBatch();
      if (batch === undefined) break;
      for (let row = 0; row < batch.rowCount; row += 1) each(rowOf(batch.values, row * width));
      await pause();
    }
  } finally {
    execution.close();
    compiled.give(instance);
  }
}

function rowMaker(
  compiled: CompiledStatement,
  { catalog }: ReadView,
  isSourced: boolean,
): (values: readonly Value[], start: number) => SourcedRow {
  const names = compiled.shape.kind === 'columns' ? compiled.shape.names : [wholeRow];
  const width = isSourced ? names.length - 1 : names.length;
  const isWhole = names[0] === wholeRow && width === 1;
  const columnWidths = widthsOfColumns(compiled);
  return (values, start) => {
    const properties = new Map<string, Value>();
    if (isWhole) copyRow(values[start] ?? null, properties);
    else
      for (let at = 0; at < width; at += 1)
        set(properties, names[at] as string, values[start + at] ?? null);
    const record = isSourced ? (values[start + width] ?? null) : null;
    const whole = isWhole ? (values[start] ?? null) : null;
    const widths = isRecord(whole) ? widthsOfRecord(whole, catalog) : columnWidths;
    return {
      properties: widths === undefined ? properties : withWidths(properties, widths),
      source: isRecord(record) ? record.rid : undefined,
    };
  };
}

/** Of integers in columns of which the query tells it. */
function widthsOfColumns({ shape }: CompiledStatement): IntegerWidths | undefined {
  if (shape.kind !== 'columns') return undefined;
  const widths = new Map<string, IntegerWidth>();
  shape.types?.forEach((type, at) => {
    if (isIntegerWidth(type)) widths.set(shape.names[at] as string, type);
  });
  return widths.size === 0 ? undefined : widths;
}

/** Of a copy, whose type declares nothing. */
function widthsOfRecord(record: StoredRecord, catalog: Catalog): IntegerWidths {
  const widths = new Map(record.integerWidths);
  for (const { name, type } of catalog.properties(record.type).values())
    if (isIntegerWidth(type)) widths.set(name, type);
    else widths.delete(name);
  return widths;
}

/** As INSERT ... FROM SELECT would copy it: names that start with '@' are left out. */
function copyRow(row: Value, properties: Map<string, Value>): void {
  if (isRecord(row))
    for (const name of row.propertyNames()) set(properties, name, row.get(name) ?? null);
  else if (isMap(row)) for (const [name, value] of row) set(properties, name, value);
  else if (row instanceof EmbeddedDocument)
    for (const [name, value] of row.properties) set(properties, name, value);
  else properties.set('value', row);
}

function set(properties: Map<string, Value>, name: string, value: Value): void {
  if (!name.startsWith('@')) properties.set(name, value);
}
