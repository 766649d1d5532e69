import type { Value, ValueMap } from '#core/value/value.ts';
import { type SchemaType, schemaTypes } from '../content/schema-document.ts';
import { isObject } from '../protocol/json-rpc.ts';
import { concatenated, type Pieces } from '../protocol/long-json.ts';
import { type Arguments, quotedName } from './arguments.ts';
import { kindParameters, MatchKey } from './match-key.ts';
import { jsonRows, parametersOf } from './statement-rows.ts';
import { ToolFailure } from './tool-failure.ts';
import { addsOnce, databaseArgument, objectSchema, type Tool, type ToolCall } from './tool.ts';

/*
 * Memory of agents: vertices by match keys, edges by endpoints and type (contract 2, tool rule 3). Each call is one script and so
 * one transaction; values are bound. Calls that look for the same vertex take turns, since there may be no unique index on its keys;
 * whoever loses a race for a unique key (to another statement) is executed anew and meets the winner's vertex.
 */

const needed = ['allowInsert', 'allowUpdate'] as const;
const keys = (description: string) => ({ type: 'object', minProperties: 1, description });

export const upsertEntity: Tool = {
  name: 'upsert_entity',
  description:
    'Creates a vertex, or finds the one with the same match keys, and sets properties on it. The type is made when it is missing.',
  inputSchema: objectSchema(
    {
      database: databaseArgument,
      typeName: { type: 'string', description: 'Vertex type' },
      matchKeys: keys('Properties that tell the entity from all others'),
      setProperties: { type: 'object', description: 'Further properties, set in any case' },
    },
    ['database', 'typeName', 'matchKeys'],
  ),
  annotations: addsOnce,
  needs: needed,
  run: async (call) => {
    const given = call.arguments;
    const database = given.requiredText('database');
    const typeName = given.requiredText('typeName');
    const matchKeys = matchKeysOf(given, 'matchKeys');
    const script = new UpsertScript();
    const vertex = script.vertex(typeName, matchKeys, 'typeName');
    script.update(vertex, given.object('setProperties'));
    call.server.policy.requireDatabase(call.caller.principal, database, needed);
    const places = new Set([placeOf(database, typeName, matchKeys)]);
    return call.server.turns.during(places, async () => {
      const types = await requireTypes(call, database, [{ name: typeName, category: 'vertex' }]);
      return script.run(call, database, { result: vertex, types });
    });
  },
};

export const upsertRelationship: Tool = {
  name: 'upsert_relationship',
  description:
    'Connects two vertices, found or made by their match keys, with one edge of a type. Endpoints and type are its identity.',
  inputSchema: objectSchema(
    {
      database: databaseArgument,
      fromType: { type: 'string', description: 'Vertex type of the source' },
      fromMatchKeys: keys('Properties that tell the source from all others'),
      toType: { type: 'string', description: 'Vertex type of the target' },
      toMatchKeys: keys('Properties that tell the target from all others'),
      relType: { type: 'string', description: 'Edge type' },
      relProperties: { type: 'object', description: 'Properties of the edge' },
    },
    ['database', 'fromType', 'fromMatchKeys', 'toType', 'toMatchKeys', 'relType'],
  ),
  annotations: addsOnce,
  needs: needed,
  run: async (call) => {
    const given = call.arguments;
    const database = given.requiredText('database');
    const fromType = given.requiredText('fromType');
    const toType = given.requiredText('toType');
    const relType = given.requiredText('relType');
    const fromKeys = matchKeysOf(given, 'fromMatchKeys');
    const toKeys = matchKeysOf(given, 'toMatchKeys');
    const script = new UpsertScript();
    const from = script.vertex(fromType, fromKeys, 'fromType');
    const to = script.vertex(toType, toKeys, 'toType');
    const edge = script.edge(relType, { from, to });
    script.update(edge, given.object('relProperties'));
    call.server.policy.requireDatabase(call.caller.principal, database, needed);
    const places = [placeOf(database, fromType, fromKeys), placeOf(database, toType, toKeys)];
    return call.server.turns.during(new Set(places), async () => {
      const types = await requireTypes(call, database, [
        { name: fromType, category: 'vertex' },
        { name: toType, category: 'vertex' },
        { name: relType, category: 'edge' },
      ]);
      return script.run(call, database, { result: edge, types });
    });
  },
};

/** @throws ToolFailure for none, and for values that cannot tell records apart */
function matchKeysOf(given: Arguments, name: string): ValueMap {
  const map = given.object(name);
  if (map === undefined || map.size === 0) throw new ToolFailure(`'${name}' is required`);
  for (const [key, value] of map)
    if (value === null || Array.isArray(value) || isObject(value))
      throw new ToolFailure(`'${name}.${key}' must be a text, a number or a boolean`);
  return map;
}

/** One text for all calls that look for the same vertex, whatever the order of their keys. */
function placeOf(database: string, type: string, matchKeys: ValueMap): string {
  const keys = [...matchKeys].map(([key, value]) => `${key}\n${typeof value}\n${String(value)}`);
  return [database, type, ...keys.sort()].join('\n\n');
}

/** MERGE and CONTENT leave system attributes out; whoever gives one is told. @throws ToolFailure */
function requireAssignable(name: string): void {
  quotedName(name, name.slice(0, 60));
  if (name.startsWith('@'))
    throw new ToolFailure(`'${name.slice(0, 60)}' is a system attribute and cannot be assigned`);
}

/** A kind costs 20 microseconds to ask for; nobody tells things apart by the kinds of so many values. */
const keysByKindMax = 64;

/** Properties that a type has, those of its supertypes, too. */
type Declared = (type: string) => ReadonlySet<string>;

/** Steps of one script: each result stands in a variable. */
class UpsertScript {
  readonly #steps: ((declared: Declared) => string)[] = [];
  readonly #parameters = new Map<string, Value>(kindParameters);
  #variables = 0;

  /** Finds or makes vertices. @returns the variable that holds them */
  vertex(type: string, matchKeys: ValueMap, argument: string): string {
    const name = quotedName(type, argument);
    const variable = this.#variable();
    for (const key of matchKeys.keys()) requireAssignable(key);
    const content = this.#parameter(matchKeys);
    const keys = [...matchKeys].map(([key, value], at) => {
      const isToldByKind = at < keysByKindMax;
      return new MatchKey({
        property: key,
        value,
        parameter: this.#parameter(value),
        isToldByKind,
      });
    });
    this.#steps.push(
      (declared) => {
        const properties = declared(type);
        const conditions = keys.map((key) => key.condition(properties)).join(' AND ');
        return `LET ${variable} = SELECT FROM ${name} WHERE ${conditions}`;
      },
      () =>
        `IF (${variable}.size() = 0) { LET ${variable} = CREATE VERTEX ${name} CONTENT :${content}; }`,
    );
    return variable;
  }

  /** Finds or makes the edge of a type between two vertices. */
  edge(type: string, ends: { readonly from: string; readonly to: string }): string {
    const variable = this.#variable();
    const name = quotedName(type, 'relType');
    const one = (vertices: string) => `(SELECT FROM ${vertices} LIMIT 1)`;
    this.#steps.push(
      () =>
        `LET ${variable} = CREATE EDGE ${name} FROM ${one(ends.from)} TO ${one(ends.to)} IF NOT EXISTS`,
    );
    return variable;
  }

  update(variable: string, properties: ValueMap | undefined): void {
    if (properties === undefined || properties.size === 0) return;
    for (const name of properties.keys()) requireAssignable(name);
    // As one value: thousands of assignments are long to read, to plan and to judge.
    const parameter = this.#parameter(properties);
    this.#steps.push(() => `LET ${variable} = UPDATE ${variable} MERGE :${parameter} RETURN AFTER`);
  }

  async run(
    call: ToolCall,
    database: string,
    { result, types }: { readonly result: string; readonly types: readonly SchemaType[] },
  ): Promise<Pieces> {
    const steps = this.#steps.map((step) => step((type) => propertiesOf(type, types)));
    const { json, count } = await jsonRows(call, {
      database,
      language: 'sqlscript',
      text: `${steps.join(';\n')};\nRETURN ${result};`,
      parameters: parametersOf(this.#parameters),
      mustRead: false,
      rowCountMax: 1,
    });
    return concatenated('{"records":', json, `,"count":${count}}`);
  }

  #variable(): string {
    this.#variables += 1;
    return `$found${this.#variables}`;
  }

  #parameter(value: Value): string {
    const name = `p${this.#parameters.size}`;
    this.#parameters.set(name, value);
    return name;
  }
}

function propertiesOf(type: string, types: readonly SchemaType[]): ReadonlySet<string> {
  const names = new Set<string>();
  const open = [type];
  for (const name of open) {
    const known = types.find((one) => one.name === name);
    for (const property of known?.properties ?? []) names.add(String(property.get('name')));
    for (const parent of known?.parentTypes ?? []) if (!open.includes(parent)) open.push(parent);
  }
  return names;
}

function shown(category: string): string {
  return `${category === 'edge' ? 'an' : 'a'} ${category}`;
}

/** Makes what is missing, with the native right `updateSchema`; two callers that make the same one both succeed. */
async function requireTypes(
  call: ToolCall,
  database: string,
  wanted: readonly { readonly name: string; readonly category: 'vertex' | 'edge' }[],
): Promise<readonly SchemaType[]> {
  const types = await schemaTypes(call, database);
  for (const { name, category } of wanted) {
    const type = types.find((known) => known.name === name);
    if (type !== undefined && type.category !== category)
      throw new ToolFailure(
        `Type '${name}' is ${shown(type.category)} type, not ${shown(category)} type`,
      );
    if (type !== undefined) continue;
    const argument = category === 'edge' ? 'relType' : 'typeName';
    await jsonRows(call, {
      database,
      language: 'sql',
      text: `CREATE ${category.toUpperCase()} TYPE ${quotedName(name, argument)} IF NOT EXISTS`,
      mustRead: false,
      rowCountMax: 1,
    });
  }
  return types;
}
