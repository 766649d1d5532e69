import type { Json, JsonObject } from '../kubernetes-object.ts';
import { effectOfChange } from './changes.ts';

type MutableSchema = { [field: string]: Json | undefined };

/**
 * Puts a description on every field below `path`, made of what is said of the field, its default and what a change of it does.
 * @param effectOf the sentence about a change of a field; those of `Cluster` unless said otherwise
 * @throws Error for a description of a field that is not there
 */
export function describeFields(
  schema: JsonObject,
  path: string,
  descriptions: Readonly<Record<string, string>>,
  effectOf: (path: string) => string | undefined = effectOfChange,
): JsonObject {
  const unused = new Set(Object.keys(descriptions));
  const root = structuredClone(schema) as MutableSchema;
  describe(root, path);
  if (unused.size > 0) throw new Error(`descriptions of no field: ${[...unused].join(', ')}`);
  return root;

  function describe(place: MutableSchema, at: string): void {
    const text = textOf(at);
    const said = (place['description'] as string | undefined) ?? text;
    if (said !== undefined) place['description'] = sentenceOf(said, place, effectOf(at));
    for (const [name, inner] of Object.entries((place['properties'] ?? {}) as MutableSchema))
      describe(inner as MutableSchema, `${at}.${name}`);
    if (isSchema(place['items'])) describeWithin(place['items'], at);
    const values = place['additionalProperties'];
    if (isSchema(values) && (values as MutableSchema)['properties'] !== undefined)
      describe(values as MutableSchema, `${at}.*`);
  }

  /** Items of a list have no name of their own: their fields follow that of the list. */
  function describeWithin(items: JsonObject, at: string): void {
    for (const [name, inner] of Object.entries((items['properties'] ?? {}) as MutableSchema))
      describe(inner as MutableSchema, `${at}.${name}`);
  }

  function textOf(at: string): string | undefined {
    const words = at.split('.');
    const patterns = words.slice(1).map((_, place) => words.toSpliced(place + 1, 1, '*').join('.'));
    const found = [at, ...patterns].filter((pattern) => descriptions[pattern] !== undefined);
    for (const pattern of found) unused.delete(pattern);
    return found[0] === undefined ? undefined : descriptions[found[0]];
  }
}

function isSchema(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sentenceOf(said: string, schema: JsonObject, change: string | undefined): string {
  const standard = schema['default'];
  const isPlain = standard !== undefined && typeof standard !== 'object';
  const inner = schema['properties'] ?? schema['items'];
  const effect = isSchema(inner) && schema['items'] === undefined ? undefined : change;
  return [`${said}.`, isPlain ? `Default: ${String(standard)}.` : '', effect ?? '']
    .filter((part) => part !== '')
    .join(' ');
}
