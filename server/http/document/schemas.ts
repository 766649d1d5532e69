import type { JsonSchema } from '../request/body-fields.ts';
import type { Answer } from '../routes/route.ts';

// Pieces of the OpenAPI document that the routes describe themselves with.

/** A schema that all routes share, by its name in `components.schemas`. */
export function shared(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function text(description?: string): JsonSchema {
  return { type: 'string', ...(description === undefined ? undefined : { description }) };
}

export function integer(description?: string): JsonSchema {
  return { type: 'integer', ...(description === undefined ? undefined : { description }) };
}

export function flag(description: string): JsonSchema {
  return { type: 'boolean', description };
}

export function listOf(items: JsonSchema, description?: string): JsonSchema {
  return { type: 'array', items, ...(description === undefined ? undefined : { description }) };
}

/** An object whose properties have names that only the data knows. */
export function mapOf(values: JsonSchema | true): JsonSchema {
  return { type: 'object', additionalProperties: values };
}

/** An object; its properties are required but for those named in `optional`. */
export function object(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, ...(required.length > 0 ? { required } : undefined) };
}

/** An answer whose `result` is of this kind. */
export function resultAnswer(description: string, result: JsonSchema): Answer {
  return {
    description,
    schema: object({ result, warnings: shared('Warnings') }, ['warnings']),
  };
}

/** A refusal beyond those that every operation has. */
export function refusal(description: string): Answer {
  return { description, schema: shared('ErrorResponse') };
}
