/*
 * Whether answers are as the OpenAPI document says: the status is listed (or `default` is), the content type is listed, the
 * body fits the schema. Stricter than OpenAPI in one point: a property that the schema does not name is wrong unless
 * `additionalProperties` allows it, so that the document cannot fall behind.
 */

export type Json = Readonly<Record<string, unknown>>;

/** An answer as it came. */
export interface CheckedAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
}

/** One operation of a document. */
export interface DocumentedOperation {
  readonly method: string;
  /** With `{parameter}`. */
  readonly template: string;
  readonly operation: Json;
}

/** Reads an OpenAPI 3.0 document. */
export class OpenApiChecker {
  readonly #document: Json;
  readonly operations: readonly DocumentedOperation[];

  constructor(document: Json) {
    this.#document = document;
    this.operations = Object.entries(document['paths'] as Json).flatMap(([template, methods]) =>
      Object.entries(methods as Json).map(([method, operation]) => ({
        method: method.toUpperCase(),
        template,
        operation: operation as Json,
      })),
    );
  }

  /** The operation that a request belongs to. @param path with or without a query string */
  find(method: string, path: string): DocumentedOperation | undefined {
    const bare = path.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? '';
    const given = bare.split('/');
    return this.operations.find(({ method: own, template }) => {
      const wanted = template.split('/');
      // The statement of the GET form may hold slashes.
      const takesRest = template.endsWith('{command}');
      if (own !== method) return false;
      if (takesRest ? given.length < wanted.length : given.length !== wanted.length) return false;
      return wanted.every((part, index) =>
        part.startsWith('{') ? (given[index] ?? '') !== '' : part === given[index],
      );
    });
  }

  /** What is wrong with the answer of an operation; empty when it is as documented. */
  problems({ operation, method, template }: DocumentedOperation, answer: CheckedAnswer): string[] {
    const responses = operation['responses'] as Json;
    const response = (responses[String(answer.status)] ?? responses['default']) as Json | undefined;
    const where = `${method} ${template} ${answer.status}`;
    if (response === undefined) return [`${where}: this status is not documented`];
    const content = response['content'] as Json | undefined;
    if (answer.text === '') {
      const mayBeEmpty = content === undefined || answer.status === 503;
      return mayBeEmpty ? [] : [`${where}: no body`];
    }
    const type = answer.contentType?.split(';', 1)[0] ?? '';
    const media = content?.[type] as Json | undefined;
    if (media === undefined) return [`${where}: content type '${type}' is not documented`];
    const schema = media['schema'] as Json;
    const texts =
      type === 'application/x-ndjson'
        ? answer.text.split('\n').filter((line) => line !== '')
        : [answer.text];
    if (type !== 'application/json' && type !== 'application/x-ndjson') return [];
    return texts.flatMap((text) => this.mismatches(JSON.parse(text), schema, where));
  }

  /** Where a value does not fit a schema. */
  mismatches(value: unknown, schema: Json, at: string): string[] {
    const ref = schema['$ref'];
    if (typeof ref === 'string') return this.mismatches(value, this.#resolve(ref), at);
    if (value === null && schema['nullable'] === true) return [];
    const choices = schema['oneOf'] as readonly Json[] | undefined;
    if (choices) {
      const fitting = choices.filter((choice) => this.mismatches(value, choice, at).length === 0);
      return fitting.length === 1 ? [] : [`${at}: fits ${fitting.length} of the choices`];
    }
    const allowed = schema['enum'] as readonly unknown[] | undefined;
    if (allowed && !allowed.includes(value))
      return [`${at}: ${JSON.stringify(value)} is not listed`];
    const type = schema['type'];
    if (typeof type === 'string' && !isOfType(value, type))
      return [`${at}: ${JSON.stringify(value)?.slice(0, 200)} is not of type ${type}`];
    if (Array.isArray(value)) {
      const items = (schema['items'] ?? {}) as Json;
      return value.flatMap((item, index) => this.mismatches(item, items, `${at}[${index}]`));
    }
    if (typeof value === 'object' && value !== null && (type === 'object' || schema['properties']))
      return this.#mismatchesOfObject(value as Json, schema, at);
    return [];
  }

  #mismatchesOfObject(value: Json, schema: Json, at: string): string[] {
    const properties = (schema['properties'] ?? {}) as Json;
    const required = (schema['required'] ?? []) as readonly string[];
    const others = schema['additionalProperties'];
    const found = required
      .filter((name) => !Object.hasOwn(value, name))
      .map((name) => `${at}: '${name}' is missing`);
    for (const [name, part] of Object.entries(value)) {
      const own = properties[name] as Json | undefined;
      if (own) found.push(...this.mismatches(part, own, `${at}.${name}`));
      else if (typeof others === 'object' && others !== null)
        found.push(...this.mismatches(part, others as Json, `${at}.${name}`));
      else if (others !== true) found.push(`${at}: '${name}' is not documented`);
    }
    return found;
  }

  #resolve(ref: string): Json {
    let found: unknown = this.#document;
    for (const part of ref.slice(2).split('/')) found = (found as Json)[part];
    if (found === undefined) throw new Error(`${ref} leads nowhere`);
    return found as Json;
  }
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
