import type { JsonSchema } from './body-fields.ts';
import { badRequest } from '../answer/errors.ts';

/*
 * Query parameters of POST /batch (http-api.md 10.2). All are optional; a value that does not parse is refused; unknown ones
 * are ignored. Those that tune the storage of the reference engine are checked and have no effect here: adjacency is always
 * written once per commit, and a finished call is always durable.
 */

export interface BatchParameters {
  /** Records of one commit; undefined when not given. */
  readonly commitEvery: number | undefined;
  readonly commitRetries: number;
  readonly commitRetryDelayMs: number;
  readonly bidirectional: boolean;
  /** 0: not checked. */
  readonly expectedRecords: number;
  readonly idMapping: 'auto' | 'true' | 'false';
  readonly refMode: 'id' | 'ordinal';
  readonly ordinalBase: number;
}

interface IntegerRange {
  readonly kind: 'integer';
  readonly min: number;
  readonly max: number;
  readonly default: number;
  readonly what: string;
}

interface Choice {
  readonly kind: 'choice';
  readonly values: readonly string[];
  readonly default: string;
  readonly what: string;
}

const anyInteger = Number.MAX_SAFE_INTEGER;
const int = 2 ** 31 - 1;

function integer(what: string, fallback: number, min = 0, max = anyInteger): IntegerRange {
  return { kind: 'integer', min, max, default: fallback, what };
}

function choice(what: string, fallback: string, ...values: readonly string[]): Choice {
  return { kind: 'choice', values, default: fallback, what };
}

function flag(what: string, fallback: boolean): Choice {
  return choice(what, String(fallback), 'true', 'false');
}

const specs = {
  batchSize: integer('Edges gathered before they are written; no effect', 100_000, 1, int),
  vertexBatchSize: integer('Vertices gathered before they are written; no effect', 10_000, 1, int),
  commitEvery: integer('Records of one commit', 50_000, 1, int),
  commitRetries: integer('Further attempts of a commit in conflict', 10, 0, int),
  commitRetryDelayMs: integer('Pause before each of them (ms)', 1000, 0, 3_600_000),
  lightEdges: flag('No effect: every edge has a record', false),
  wal: flag('No effect: a finished call is durable', false),
  parallelFlush: flag('No effect', true),
  preAllocateEdgeChunks: flag('No effect', true),
  edgeListInitialSize: integer('No effect', 2048, 64, 8192),
  bidirectional: flag('false enters edges at their source only', true),
  expectedEdgeCount: integer('A hint; no effect', 0),
  expectedVertexCount: integer('A hint; no effect', 0),
  expectedRecords: integer('Fewer records are a cut upload: 408', 0),
  idMapping: choice(
    'Whether record ids by temporary id are answered; auto: up to 10,000',
    'auto',
    'auto',
    'true',
    'false',
  ),
  refMode: choice('ordinal: edges name vertices by their line', 'id', 'id', 'ordinal'),
  ordinalBase: integer('Number of the first vertex line', 0),
} as const satisfies Record<string, IntegerRange | Choice>;

/** For the OpenAPI document. */
export const batchParameterSchemas: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  Object.entries(specs).map(([name, spec]) => [name, schemaOf(spec)]),
);

function schemaOf(spec: IntegerRange | Choice): JsonSchema {
  if (spec.kind === 'choice') {
    return { type: 'string', enum: spec.values, default: spec.default, description: spec.what };
  }
  return {
    type: 'integer',
    minimum: spec.min,
    ...(spec.max === anyInteger ? undefined : { maximum: spec.max }),
    default: spec.default,
    description: spec.what,
  };
}

/** @throws HttpRefusal 400 naming the parameter and what is allowed */
export function readBatchParameters(queryString: string): BatchParameters {
  const given = new URLSearchParams(queryString);
  const values = new Map<string, number | string>();
  for (const [name, spec] of Object.entries(specs)) values.set(name, read(given, name, spec));
  const number = (name: keyof typeof specs) => values.get(name) as number;
  const text = (name: keyof typeof specs) => values.get(name) as string;
  return {
    commitEvery: given.has('commitEvery') ? number('commitEvery') : undefined,
    commitRetries: number('commitRetries'),
    commitRetryDelayMs: number('commitRetryDelayMs'),
    bidirectional: text('bidirectional') === 'true',
    expectedRecords: number('expectedRecords'),
    idMapping: text('idMapping') as BatchParameters['idMapping'],
    refMode: text('refMode') as BatchParameters['refMode'],
    ordinalBase: number('ordinalBase'),
  };
}

function read(given: URLSearchParams, name: string, spec: IntegerRange | Choice): number | string {
  const text = given.get(name);
  if (text === null) return spec.default;
  if (spec.kind === 'choice') {
    const found = spec.values.find((value) => value === text.toLowerCase());
    if (found !== undefined) return found;
    throw wrong(name, text, `one of ${spec.values.join(', ')}`);
  }
  const n = /^[+-]?\d{1,19}$/.test(text) ? Number(text) : Number.NaN;
  if (n >= spec.min && n <= spec.max) return n;
  const range = spec.max === anyInteger ? `from ${spec.min} on` : `from ${spec.min} to ${spec.max}`;
  throw wrong(name, text, `an integer ${range}`);
}

function wrong(name: string, text: string, allowed: string) {
  return badRequest(`Parameter '${name}' is '${text.slice(0, 100)}'; it must be ${allowed}`);
}
