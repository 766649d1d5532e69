import { DatabaseError } from '#core/errors.ts';
import type { TypeId } from '#core/value/rid.ts';
import { parseRid, type Rid } from '#core/value/rid.ts';
import { isRecord, type Value } from '#core/value/value.ts';
import { Link } from '#core/value/record.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import { closestWord } from '../../suggestion.ts';
import type { Command, CommandArgument, NamedValue } from '../statements.ts';
import type { Analysis, AnalyzedQuery } from './analysis.ts';
import { constantOf } from './expression/constant.ts';
import { bucketIds } from './target.ts';

/** Statements that work on the database as a whole: one `Maintain` node each, whose rows come from who carries it out. */
export const maintenanceCommands: ReadonlySet<string> = new Set([
  'ALTER DATABASE',
  'REBUILD INDEX',
  'COMPACT INDEX',
  'REBUILD TYPE',
  'CHECK DATABASE',
]);

/** @throws DatabaseError `Schema` for unknown names, `Syntax` for unknown settings, `IllegalArgument` for wrong values */
export function analyzeMaintenance(analysis: Analysis, node: Command): AnalyzedQuery {
  return maintenance(analysis, workOf(analysis, node));
}

/** The plan of one piece of work. */
export function maintenance(analysis: Analysis, work: Maintenance): AnalyzedQuery {
  const as = analysis.slots.next();
  analysis.writeCount += 1;
  return {
    plan: { op: 'Maintain', work, as },
    output: { kind: 'value', slot: as },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

function workOf(analysis: Analysis, node: Command): Maintenance {
  switch (node.name) {
    case 'ALTER DATABASE': {
      const key = textArgument(node, 'setting');
      const value = node.arguments.get('value');
      return {
        kind: 'alter-database',
        key,
        value: givenValue(analysis, value, `setting '${key}'`),
      };
    }
    case 'REBUILD INDEX':
      return rebuildIndex(analysis, node);
    case 'COMPACT INDEX':
      return { kind: 'compact-index', index: indexArgument(node) };
    case 'REBUILD TYPE':
      return rebuildType(analysis, node);
    default:
      return checkDatabase(analysis, node);
  }
}

function rebuildIndex(analysis: Analysis, node: Command): Maintenance {
  const settings = settingsOf(analysis, node, ['batchSize', 'maxAttempts', 'statsOnly']);
  // Batches are chosen by the time they take; the number is checked and not needed.
  countSetting(settings, 'batchSize', 1);
  return {
    kind: 'rebuild-index',
    index: indexArgument(node),
    statsOnly: booleanSetting(settings, 'statsOnly'),
    attemptCountMax: countSetting(settings, 'maxAttempts', 3),
  };
}

const rebuildBatchSize = 10_000;

function rebuildType(analysis: Analysis, node: Command): Maintenance {
  const settings = settingsOf(analysis, node, ['batchSize', 'repartition']);
  return {
    kind: 'rebuild-type',
    type: analysis.type(textArgument(node, 'type')).id,
    polymorphic: node.arguments.get('polymorphic') === true,
    repartition: booleanSetting(settings, 'repartition'),
    batchSize: Math.min(countSetting(settings, 'batchSize', rebuildBatchSize), 100_000),
  };
}

function checkDatabase(analysis: Analysis, node: Command): Maintenance {
  const types = namesArgument(node, 'types');
  const buckets = namesArgument(node, 'buckets');
  const records = node.arguments.get('records');
  return {
    kind: 'check-database',
    types: types && typesNamed(analysis, types),
    buckets: buckets && bucketIds(analysis, buckets.map(numberOrName)),
    records:
      records === undefined
        ? undefined
        : ridsOf(analysis, givenValue(analysis, records, 'RECORD'), node.at),
    fix: node.arguments.get('fix') === true,
    deleteOrphans: node.arguments.get('deleteOrphans') === true,
    deep: node.arguments.get('deep') === true,
  };
}

function typesNamed(analysis: Analysis, names: readonly string[]): readonly TypeId[] {
  return [...new Set(names.map((name) => analysis.type(name).id))];
}

function numberOrName(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}

function ridsOf(analysis: Analysis, value: Value, at: number): readonly Rid[] {
  const items = Array.isArray(value) ? (value as readonly Value[]) : [value];
  return items.map((item) => {
    if (item instanceof Link || isRecord(item)) return item.rid;
    const rid = typeof item === 'string' ? parseRid(item) : undefined;
    if (rid === undefined) throw analysis.fault(at, 'RECORD takes record ids');
    return rid;
  });
}

// --- arguments

/** An argument that the parser always sets. */
export function textArgument(node: Command, name: string): string {
  const value = node.arguments.get(name);
  if (typeof value !== 'string') throw new Error(`${node.name} has no ${name}`);
  return value;
}

/** Undefined for `*`. */
function indexArgument(node: Command): string | undefined {
  const name = textArgument(node, 'index');
  return name === '*' ? undefined : name;
}

function namesArgument(node: Command, name: string): readonly string[] | undefined {
  const value = node.arguments.get(name);
  return typeof value === 'object' && value.kind === 'names' ? value.value : undefined;
}

function givenValue(
  analysis: Analysis,
  argument: CommandArgument | undefined,
  what: string,
): Value {
  if (typeof argument !== 'object' || argument.kind !== 'expression')
    throw new Error(`${what} has no value`);
  return constantOf(analysis, argument.value, what);
}

/** `WITH name = value, ...`; names are compared without case. */
function settingsOf(
  analysis: Analysis,
  node: Command,
  known: readonly string[],
): ReadonlyMap<string, Value> {
  const argument = node.arguments.get('settings');
  const given: readonly NamedValue[] =
    typeof argument === 'object' && argument.kind === 'settings' ? argument.value : [];
  const settings = new Map<string, Value>();
  for (const { name, at, value } of given) {
    const found = known.find((one) => one.toLowerCase() === name.toLowerCase());
    if (found === undefined)
      throw analysis.fault(
        at,
        `unknown setting '${name}' of ${node.name}, expected one of ${known.join(', ')}`,
        closestWord(name, known),
      );
    settings.set(found, constantOf(analysis, value, `setting '${name}'`));
  }
  return settings;
}

function countSetting(
  settings: ReadonlyMap<string, Value>,
  name: string,
  otherwise: number,
): number {
  const value = settings.get(name);
  if (value === undefined) return otherwise;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  throw new DatabaseError(
    'IllegalArgument',
    `setting '${name}' must be a whole number of at least 1`,
  );
}

function booleanSetting(settings: ReadonlyMap<string, Value>, name: string): boolean {
  const value = settings.get(name);
  if (value === undefined) return false;
  if (typeof value === 'boolean') return value;
  throw new DatabaseError('IllegalArgument', `setting '${name}' must be true or false`);
}
