import type { Value, ValueMap } from '#core/value/value.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { type Warning, warningsMax } from '#core/warnings.ts';
import { badRequest } from '../answer/errors.ts';

/*
 * The fields of a JSON body, said once: routes validate with them and the OpenAPI document is derived from them. Unknown
 * fields are ignored (house decision 42); null means absent.
 */

/** One field: how its value is checked, and its JSON schema (OpenAPI 3.0.3). */
export interface Field<T> {
  readonly isRequired: boolean;
  readonly schema: JsonSchema;
  /** @throws HttpRefusal 400 naming the field */
  readonly read: (value: Value, name: string) => T;
  /** The refusal of a required field that is absent. */
  readonly missing?: string | undefined;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The type of a body read by a set of fields. */
export type BodyOf<F extends Readonly<Record<string, Field<unknown>>>> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** Takes what an answer is to warn of. */
export interface WarningSink {
  warn(...warnings: readonly Warning[]): void;
}

/**
 * Checks all fields; what is absent is undefined.
 * @param sink told of fields that nothing reads
 * @throws HttpRefusal 400 naming the first wrong field
 */
export function readFields<F extends Readonly<Record<string, Field<unknown>>>>(
  fields: F,
  body: ValueMap,
  sink?: WarningSink,
): BodyOf<F> {
  const result: Record<string, unknown> = {};
  let present = 0;
  for (const name in fields) {
    const field = fields[name] as Field<unknown>;
    const value = body.get(name);
    if (value !== undefined) present += 1;
    if (value !== undefined && value !== null) result[name] = field.read(value, name);
    else if (field.isRequired) throw badRequest(field.missing ?? `Field '${name}' is missing`);
    else result[name] = undefined;
  }
  if (present < body.size && sink !== undefined) sink.warn(...unknownFields(fields, body));
  return result as BodyOf<F>;
}

/** They are ignored (house decision 42), and told of, since most are misspelt (house decision 80). */
function unknownFields(
  fields: Readonly<Record<string, unknown>>,
  body: ValueMap,
): readonly Warning[] {
  const warnings: Warning[] = [];
  const known = Object.keys(fields);
  for (const name of body.keys()) {
    if (Object.hasOwn(fields, name)) continue;
    if (warnings.length >= warningsMax) break;
    const shown = name.slice(0, 100);
    const hint = didYouMean(name, known) ?? withSameStart(name, known);
    const message = `field '${shown}' is unknown and was ignored${hint === undefined ? '' : `; ${hint}`}`;
    warnings.push({ code: 'UnknownField', message });
  }
  return warnings;
}

/** `parameters` for `params`. */
function withSameStart(name: string, known: readonly string[]): string | undefined {
  const start = name.slice(0, 5).toLowerCase();
  const meant = known.find((own) => own.toLowerCase().startsWith(start));
  return start.length < 5 || meant === undefined ? undefined : `did you mean '${meant}'?`;
}

/** The JSON schema of an object with these fields. */
export function schemaOfFields(fields: Readonly<Record<string, Field<unknown>>>): JsonSchema {
  const required = Object.keys(fields).filter((name) => fields[name]?.isRequired);
  const properties: Record<string, JsonSchema> = {};
  for (const [name, field] of Object.entries(fields)) properties[name] = field.schema;
  return { type: 'object', properties, ...(required.length > 0 ? { required } : undefined) };
}

interface About {
  readonly description: string;
}

/** A string that must be there and must not be blank. */
export function requiredText(about: About & { readonly missing?: string }): Field<string> {
  return {
    isRequired: true,
    missing: about.missing,
    schema: { type: 'string', minLength: 1, description: about.description },
    read: (value, name) => {
      const text = readText(value, name);
      if (text.trim() === '') throw badRequest(about.missing ?? `Field '${name}' is blank`);
      return text;
    },
  };
}

export function optionalText(about: About): Field<string | undefined> {
  return {
    isRequired: false,
    schema: { type: 'string', description: about.description },
    read: readText,
  };
}

export function optionalBoolean(about: About): Field<boolean | undefined> {
  return {
    isRequired: false,
    schema: { type: 'boolean', description: about.description },
    read: (value, name) => {
      if (typeof value === 'boolean') return value;
      throw badRequest(`Field '${name}' must be a boolean`);
    },
  };
}

/** A 32-bit integer. */
export function optionalInteger(
  about: About & { readonly min?: number },
): Field<number | undefined> {
  const min = about.min ?? -2_147_483_648;
  return {
    isRequired: false,
    schema: {
      type: 'integer',
      format: 'int32',
      description: about.description,
      ...(about.min === undefined ? undefined : { minimum: about.min }),
    },
    read: (value, name) => {
      const isInteger = typeof value === 'number' && Number.isInteger(value);
      if (!isInteger && typeof value !== 'bigint')
        throw badRequest(`Field '${name}' must be an integer`);
      if (value < min || value > 2_147_483_647)
        throw badRequest(`Field '${name}' must be an integer from ${min} to 2147483647`);
      return Number(value);
    },
  };
}

/** One of a few words. @param fold true compares without case */
export function optionalChoice<const T extends string>(
  choices: readonly T[],
  about: About & { readonly refuse: (value: string) => string; readonly fold?: boolean },
): Field<T | undefined> {
  return {
    isRequired: false,
    schema: { type: 'string', enum: choices, description: about.description },
    read: (value, name) => {
      const text = readText(value, name);
      const wanted = about.fold ? text.toUpperCase() : text;
      const found = choices.find((choice) => choice === wanted);
      if (found !== undefined) return found;
      throw badRequest(about.refuse(text.slice(0, 100)));
    },
  };
}

/** An object or an array, taken as it is. */
export function optionalParameters(about: About): Field<Value | undefined> {
  return {
    isRequired: false,
    schema: {
      description: about.description,
      oneOf: [
        { type: 'object', additionalProperties: true },
        { type: 'array', items: {} },
      ],
    },
    read: (value, name) => {
      if (Array.isArray(value) || value instanceof Map) return value;
      throw badRequest(`Field '${name}' must be an object or an array`);
    },
  };
}

/** An object whose shape the reader decides. */
export function objectField<T>(
  about: About & { readonly isRequired?: boolean; readonly schema?: JsonSchema },
  read: (value: Value, name: string) => T,
): Field<T | undefined> {
  const schema = { type: 'object', additionalProperties: true, ...about.schema };
  return {
    isRequired: about.isRequired ?? false,
    schema: { ...schema, description: about.description },
    read,
  };
}

function readText(value: Value, name: string): string {
  if (typeof value === 'string') return value;
  throw badRequest(`Field '${name}' must be a string`);
}
