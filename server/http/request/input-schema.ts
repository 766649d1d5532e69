import type { Value, ValueMap } from '#core/value/value.ts';
import type { Exchange } from '../answer/exchange.ts';
import { type HttpRefusal, badRequest } from '../answer/errors.ts';
import {
  type BodyOf,
  type Field,
  type JsonSchema,
  readFields,
  schemaOfFields,
} from './body-fields.ts';

/*
 * Schemas of resources: fastify validates with them, and the OpenAPI document is derived from them. They are not compiled by its
 * usual packages, because bodies arrive as `Map`s with exact numbers and each refusal has its words.
 */

/** What a body is validated from. */
export interface GivenBody {
  readonly fields: ValueMap;
  /** Told of fields that nothing reads. */
  readonly exchange: Exchange;
}

/** One part of a request. @typeParam I what comes in; @typeParam T what the handler gets */
export class InputSchema<I, T> {
  /** For OpenAPI; undefined is not told of. */
  readonly document: JsonSchema | undefined;
  /** Never there: the type that handlers get. */
  declare readonly reads: T;
  /** @throws HttpRefusal */
  readonly read: (input: I) => T;

  /** @param read throws HttpRefusal */
  constructor(document: JsonSchema | undefined, read: (input: I) => T) {
    this.document = document;
    this.read = read;
  }

  /** In the form that fastify asks for: refusals are the cause of an error. */
  check(input: I): { readonly value: T } | { readonly error: Error } {
    try {
      return { value: this.read(input) };
    } catch (cause) {
      return { error: new Error('refused', { cause }) };
    }
  }
}

export type BodySchema<T> = InputSchema<GivenBody, T>;
export type QuerySchema<T> = InputSchema<string, T>;

/** A JSON object with these fields; others are ignored and warned of. */
export function bodyWith<F extends Readonly<Record<string, Field<unknown>>>>(
  fields: F,
): BodySchema<BodyOf<F>> {
  return new InputSchema(schemaOfFields(fields), (body: GivenBody) =>
    readFields(fields, body.fields, body.exchange),
  );
}

/** A JSON object whose fields another room judges. @param document undefined: nothing is expected */
export function objectBody(document?: JsonSchema): BodySchema<ReadonlyMap<string, Value>> {
  return new InputSchema(document, ({ fields }: GivenBody) => fields as ReadonlyMap<string, Value>);
}

/** How one parameter behind the question mark is read; null is absent. */
export interface QueryParameter<T> {
  readonly schema: JsonSchema;
  /** @throws HttpRefusal 400 naming the parameter */
  readonly read: (text: string | null, name: string) => T;
}

type QueryOf<P extends Readonly<Record<string, QueryParameter<unknown>>>> = {
  readonly [K in keyof P]: P[K] extends QueryParameter<infer T> ? T : never;
};

/** What stands behind the question mark; the first of several counts, others are ignored. */
export function queryWith<P extends Readonly<Record<string, QueryParameter<unknown>>>>(
  parameters: P,
): QuerySchema<QueryOf<P>> {
  const entries = Object.entries(parameters);
  const document = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema]));
  return new InputSchema(document, (text: string) => {
    const given = new URLSearchParams(text);
    const read = entries.map(([name, parameter]) => [name, parameter.read(given.get(name), name)]);
    return Object.fromEntries(read) as QueryOf<P>;
  });
}

/** Empty when it is absent. */
export function textParameter(
  about: { readonly description?: string; readonly enum?: readonly string[] } = {},
  otherwise = '',
): QueryParameter<string> {
  const usual = otherwise === '' ? undefined : { default: otherwise };
  return { schema: { type: 'string', ...about, ...usual }, read: (text) => text ?? otherwise };
}

/** Its name alone switches it on. */
export function switchParameter(description: string): QueryParameter<boolean> {
  return {
    schema: { type: 'boolean', description },
    read: (text, name) => {
      if (text === null || text === 'false') return false;
      if (text === '' || text === 'true') return true;
      throw notASwitch(name, text);
    },
  };
}

function notASwitch(name: string, text: string): HttpRefusal {
  return badRequest(`Parameter '${name}' is '${text.slice(0, 60)}'; it must be true or false`);
}
