import type { Command, Statement } from '../statements.ts';
import { CommandBuilder } from './command.ts';
import type { Parser } from './parser.ts';
import { ifNotExists } from './schema.ts';

/** Materialized views, graph analytical views and time series (sql.md 14.3, 14.4, 15). */

/** After CREATE MATERIALIZED VIEW. */
export function createMaterializedView(parser: Parser, at: number): Command {
  const made = new CommandBuilder('CREATE MATERIALIZED VIEW', at);
  made.set('ifNotExists', ifNotExists(parser)).set('name', parser.name('a view name'));
  parser.expectKeyword('AS');
  made.statement('query', query(parser));
  if (parser.acceptKeyword('REFRESH')) refreshMode(parser, made);
  if (parser.acceptKeyword('BUCKETS')) made.set('buckets', parser.integer());
  return made.end(parser);
}

function query(parser: Parser): Statement {
  if (!parser.grammar.startsStatement(parser)) return parser.unexpected('SELECT');
  parser.enter();
  const statement = parser.grammar.statement(parser);
  parser.leave();
  return statement;
}

function refreshMode(parser: Parser, made: CommandBuilder): void {
  if (parser.acceptKeyword('MANUAL')) {
    made.set('refresh', 'MANUAL');
  } else if (parser.acceptKeyword('INCREMENTAL')) {
    made.set('refresh', 'INCREMENTAL');
  } else {
    parser.expectKeyword('EVERY');
    made.set('refresh', 'EVERY').set('interval', parser.integer());
    const unit = (['SECOND', 'MINUTE', 'HOUR'] as const).find((word) => parser.acceptKeyword(word));
    made.set('unit', unit ?? parser.unexpected());
  }
}

/** After ALTER MATERIALIZED VIEW. */
export function alterMaterializedView(parser: Parser, at: number): Command {
  const made = new CommandBuilder('ALTER MATERIALIZED VIEW', at).set('name', parser.name('a view'));
  parser.expectKeyword('REFRESH');
  refreshMode(parser, made);
  return made.end(parser);
}

/** REFRESH MATERIALIZED VIEW and REFRESH CONTINUOUS AGGREGATE. */
export function refresh(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('REFRESH');
  const isView = parser.acceptKeyword('MATERIALIZED');
  if (isView) parser.expectKeyword('VIEW');
  else parser.expectKeyword('CONTINUOUS', 'AGGREGATE');
  return new CommandBuilder(
    isView ? 'REFRESH MATERIALIZED VIEW' : 'REFRESH CONTINUOUS AGGREGATE',
    at,
  )
    .set('name', parser.name())
    .end(parser);
}

/** After CREATE GRAPH ANALYTICAL VIEW. */
export function createGraphView(parser: Parser, at: number): Command {
  const made = new CommandBuilder('CREATE GRAPH ANALYTICAL VIEW', at);
  made.set('ifNotExists', ifNotExists(parser)).set('name', parser.name('a view name'));
  if (parser.acceptPhrase('VERTEX', 'TYPES')) made.names('vertexTypes', bracketedNames(parser));
  if (parser.acceptKeywords('EDGE', 'TYPES')) made.names('edgeTypes', bracketedNames(parser));
  if (parser.acceptKeyword('PROPERTIES')) made.names('properties', bracketedNames(parser));
  if (parser.acceptKeywords('EDGE', 'PROPERTIES'))
    made.names('edgeProperties', bracketedNames(parser));
  graphViewSettings(parser, made);
  return made.end(parser);
}

/** After ALTER GRAPH ANALYTICAL VIEW. */
export function alterGraphView(parser: Parser, at: number): Command {
  const made = new CommandBuilder('ALTER GRAPH ANALYTICAL VIEW', at);
  made.set('name', parser.name('a view'));
  graphViewSettings(parser, made);
  return made.end(parser);
}

function graphViewSettings(parser: Parser, made: CommandBuilder): void {
  if (parser.acceptKeyword('UPDATE')) {
    parser.expectKeyword('MODE');
    const mode = (['OFF', 'SYNCHRONOUS', 'ASYNCHRONOUS'] as const).find((word) =>
      parser.acceptKeyword(word),
    );
    made.set('updateMode', mode ?? parser.unexpected());
  }
  if (parser.acceptPhrase('COMPACTION', 'THRESHOLD'))
    made.set('compactionThreshold', parser.integer());
}

function bracketedNames(parser: Parser): readonly string[] {
  parser.expect('(');
  const names = parser.nameList();
  parser.expect(')');
  return names;
}

/** After CREATE TIMESERIES TYPE. */
export function createTimeSeries(parser: Parser, at: number): Command {
  const made = new CommandBuilder('CREATE TIMESERIES TYPE', at).set(
    'name',
    parser.name('a type name'),
  );
  made.set('ifNotExists', ifNotExists(parser));
  if (parser.acceptKeyword('TIMESTAMP')) {
    made.set('timestamp', parser.name('a column'));
    if (parser.acceptKeyword('PRECISION')) made.set('precision', parser.name('a precision'));
  }
  if (parser.acceptKeyword('TAGS')) made.names('tags', typedColumns(parser));
  if (parser.acceptKeyword('FIELDS')) made.names('fields', typedColumns(parser));
  if (parser.acceptKeyword('SHARDS')) made.set('shards', parser.integer());
  if (parser.acceptKeyword('RETENTION')) made.set('retention', lengthOfTime(parser, 'DAYS'));
  const hasInterval =
    parser.acceptKeyword('COMPACTION_INTERVAL') || parser.acceptPhrase('COMPACTION', 'INTERVAL');
  if (hasInterval) made.set('compaction', lengthOfTime(parser, 'HOURS'));
  return made.end(parser);
}

/** `(col TYPE, ...)` as `col TYPE` texts. */
function typedColumns(parser: Parser): readonly string[] {
  const columns: string[] = [];
  parser.expect('(');
  do columns.push(`${parser.propertyName()} ${parser.name('a data type')}`);
  while (parser.accept(','));
  parser.expect(')');
  return columns;
}

function lengthOfTime(parser: Parser, defaultUnit: string): string {
  const count = parser.integer();
  const unit = (['DAYS', 'HOURS', 'MINUTES', 'SECONDS'] as const).find((word) =>
    parser.acceptKeyword(word),
  );
  return `${count} ${unit ?? defaultUnit}`;
}

/** After ALTER TIMESERIES TYPE. */
export function alterTimeSeries(parser: Parser, at: number): Command {
  const made = new CommandBuilder('ALTER TIMESERIES TYPE', at).set('name', parser.name('a type'));
  if (parser.acceptKeyword('DROP')) {
    parser.expectKeyword('DOWNSAMPLING', 'POLICY');
    return made.set('action', 'drop policy').end(parser);
  }
  parser.expectKeyword('ADD', 'DOWNSAMPLING', 'POLICY');
  const tiers: string[] = [];
  while (parser.acceptKeyword('AFTER')) {
    const after = lengthOfTime(parser, 'DAYS');
    parser.expectKeyword('GRANULARITY');
    tiers.push(`${after} ${lengthOfTime(parser, 'HOURS')}`);
  }
  return made.set('action', 'add policy').names('tiers', tiers).end(parser);
}

/** After CREATE CONTINUOUS AGGREGATE. */
export function createContinuousAggregate(parser: Parser, at: number): Command {
  const made = new CommandBuilder('CREATE CONTINUOUS AGGREGATE', at);
  made.set('ifNotExists', ifNotExists(parser)).set('name', parser.name());
  parser.expectKeyword('AS');
  return made.statement('query', query(parser)).end(parser);
}
