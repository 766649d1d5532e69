import { byteTextOf } from '#core/text/byte-text.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type {
  Joined,
  Many,
  RecordCommand,
  RecordContext,
  RecordStep,
  ResolvedCommand,
  TransientCommand,
} from '#query/algebra/commands.ts';
import { type Target, targetOf } from './address.ts';
import { looksLikeObject, Objects } from './json-argument.ts';
import { isRecordId, type KeyParameters, keyIn, keyOf, ridOf } from './keys.ts';
import {
  deleteStep,
  insertEdgeStep,
  insertStep,
  type Lookup,
  readStep,
  updateStep,
} from './plans.ts';
import { refusal, shown } from './refusal.ts';
import { wordAt } from './transient.ts';

/*
 * HGET, HMGET, HEXISTS, HDEL and HSET (redis.md 4): from their words to plans over records. What their address means is found out
 * when they are run, since types and indexes come and go.
 */

type Words = readonly string[];

/** What `HGET <database> key` finds: a text that `HSET <database> {"id": key}` keeps in memory. */
type Place = Target | { readonly kind: 'rids' };

/** The address and what follows it; a record id in its place stands for the database with that id. */
function takeAddress(words: Words, context: RecordContext): { place: Place; rest: Words } {
  const first = wordAt(words, 1);
  if (isRecordId(first)) return { place: { kind: 'rids' }, rest: words.slice(1) };
  return { place: targetOf(first, context), rest: words.slice(2) };
}

function lookupOf(
  place: Place,
  written: string,
  context: RecordContext,
): { readonly lookup: Lookup; readonly key: KeyParameters } {
  if (place.kind === 'index') return { lookup: place, key: keyOf(written, place, context) };
  if (place.kind === 'type' && !isRecordId(written))
    throw refusal(
      `Index '${place.type.name}' not found: a key needs the property that it is looked up by, ${place.type.name}[property]`,
    );
  const type = place.kind === 'type' ? place.type : undefined;
  return { lookup: { kind: 'rid', type }, key: ridOf(written) };
}

function requireKeys(keys: Words): Words {
  if (keys.length === 0) throw refusal('a key is missing after the address');
  return keys;
}

/** Whether the keys are those of texts in memory. */
function areTransient(place: Place, keys: Words): boolean {
  return place.kind === 'database' && !keys.some(isRecordId);
}

/** With the database before it, so that it stays in the map of the database whatever dots it has. */
function transientKey(key: string, { databaseName }: RecordContext): string {
  return byteTextOf(`${databaseName}.${key}`);
}

/** One key is looked up at once, which is the path to keep lean; others when their turn comes. */
function each<T>(keys: Words, made: (key: string) => T): Many<T> {
  if (keys.length === 1) return [made(wordAt(keys, 0))];
  return { length: keys.length, at: (index) => made(wordAt(keys, index)) };
}

function reading(gives: 'record' | 'exists', joined: Joined) {
  return (words: Words): RecordCommand => ({
    kind: 'records',
    does: 'read',
    resolve: (context) => {
      const { place, rest } = takeAddress(words, context);
      const keys = requireKeys(rest);
      if (joined === 'only' && keys.length > 1)
        throw refusal(`one key is expected, not ${keys.length}`);
      if (areTransient(place, keys)) {
        const commands = each(keys, (key): TransientCommand => {
          const name = transientKey(key, context);
          return gives === 'record' ? { kind: 'get', key: name } : { kind: 'exists', keys: [name] };
        });
        return { kind: 'transient', commands, gives: joined };
      }
      const steps = each(keys, (written) => {
        const { lookup, key } = lookupOf(place, written, context);
        return readStep(lookup, key, gives, context);
      });
      return { kind: 'steps', steps, isUniform: true, gives: joined };
    },
  });
}

export const readHGet = reading('record', 'only');
export const readHMGet = reading('record', 'list');
export const readHExists = reading('exists', 'only');

export function readHDel(words: Words): RecordCommand {
  return {
    kind: 'records',
    does: 'delete',
    resolve: (context) => {
      const { place, rest } = takeAddress(words, context);
      const keys = requireKeys(rest);
      if (areTransient(place, keys)) {
        const names = keys.map((key) => transientKey(key, context));
        const commands: readonly TransientCommand[] = [{ kind: 'delete', keys: names }];
        return { kind: 'transient', commands, gives: 'only' };
      }
      const steps = each(keys, (written) => {
        const { lookup, key } = lookupOf(place, written, context);
        return deleteStep(lookup, key, context);
      });
      return { kind: 'steps', steps, isUniform: true, gives: 'sum' };
    },
  };
}

/** HSET and HMSET: creates records from objects, changes those that keys name or that have an `@rid`. */
export function readHSet(words: Words): RecordCommand {
  const objects = new Objects();
  let length = 0;
  for (const word of words) length += word.length;
  return {
    kind: 'records',
    does: 'set',
    ...(length > preparedLength ? { prepare: () => objects.prepare(words) } : undefined),
    resolve: (context) => {
      const { place, rest } = takeAddress(words, context);
      const [first = ''] = rest;
      // `HSET <database> <Type> {...}`
      if (place.kind === 'database' && !isRecordId(first) && !looksLikeObject(first)) {
        const target = targetOf(first, context);
        return writes(target, rest.slice(1), context, objects);
      }
      return writes(place, rest, context, objects);
    },
  };
}

/** Characters of JSON that are read before the turn of their command comes, with pauses. */
const preparedLength = 16 * 1024;

function writes(
  place: Place,
  rest: Words,
  context: RecordContext,
  objects: Objects,
): ResolvedCommand {
  if (!rest.some(looksLikeObject)) throw refusal('an object in JSON is missing after the address');
  const steps = new Steps(place, context, objects);
  let key: string | undefined;
  for (const word of rest) {
    if (looksLikeObject(word)) steps.add(key, word);
    else key = word;
  }
  if (key !== undefined && rest.at(-1) === key)
    throw refusal(`an object in JSON is missing after the key '${shown(key)}'`);
  return steps.resolved();
}

/** What the objects of one HSET come to. */
class Steps {
  readonly #place: Place;
  readonly #context: RecordContext;
  readonly #objects: Objects;
  readonly #steps: RecordStep[] = [];
  readonly #created: ValueMap[] = [];
  readonly #kept: TransientCommand[] = [];

  constructor(place: Place, context: RecordContext, objects: Objects) {
    this.#place = place;
    this.#context = context;
    this.#objects = objects;
  }

  add(key: string | undefined, text: string): void {
    const place = this.#place;
    const object = this.#objects.of(text);
    const properties = withoutAttributes(object);
    const rid = object.get('@rid');
    if (key !== undefined) {
      const found = lookupOf(place, key, this.#context);
      this.#steps.push(updateStep(found.lookup, found.key, properties, this.#context));
    } else if (typeof rid === 'string') {
      const { lookup, key: id } = lookupOf(withoutIndex(place), rid, this.#context);
      this.#steps.push(updateStep(lookup, id, properties, this.#context));
    } else if (place.kind === 'index') {
      const parameters = keyIn(object, place, this.#context);
      this.#steps.push(updateStep(place, parameters, properties, this.#context));
    } else if (place.kind === 'type') this.#create(place, object, properties);
    else this.#keep(object, text);
  }

  resolved(): ResolvedCommand {
    if (this.#kept.length > 0) {
      if (this.#steps.length > 0)
        throw refusal('objects with and without @rid cannot be mixed after the name of a database');
      return { kind: 'transient', commands: this.#kept, gives: 'count' };
    }
    const { type } = this.#place.kind === 'type' ? this.#place : {};
    if (type !== undefined && this.#created.length > 0)
      this.#steps.unshift(insertStep(type, this.#created));
    return { kind: 'steps', steps: this.#steps, isUniform: false, gives: 'sum' };
  }

  #create({ type }: Target & { kind: 'type' }, object: ValueMap, properties: ValueMap): void {
    const named = object.get('@type');
    if (named !== undefined && named !== type.name)
      throw refusal(
        `@type of the object is '${shown(String(named))}', the address names '${type.name}'`,
      );
    if (type.kind !== 'edge') {
      this.#created.push(properties);
      return;
    }
    const from = object.get('@out');
    const to = object.get('@in');
    if (typeof from !== 'string' || typeof to !== 'string')
      throw refusal(`an edge of type '${type.name}' needs @out and @in, the ids of its vertices`);
    this.#steps.push(insertEdgeStep(type, { from: ridOf(from), to: ridOf(to) }, properties));
  }

  /** Kept in memory under its id, as it is written. */
  #keep(object: ValueMap, text: string): void {
    const id = object.get('id');
    if (typeof id !== 'string' && typeof id !== 'number' && typeof id !== 'bigint')
      throw refusal(
        `after the name of a database an object needs @rid (a record is changed) or id (it is kept in memory); to create a record use HSET ${this.#context.databaseName}.<Type>`,
      );
    this.#kept.push({
      kind: 'set',
      key: transientKey(String(id), this.#context),
      value: byteTextOf(text),
      only: undefined,
      givesOld: false,
    });
  }
}

function withoutIndex(place: Place): Place {
  return place.kind === 'index' ? { kind: 'type', type: place.type } : place;
}

const attributes = ['@rid', '@type', '@cat', '@in', '@out'];

/** What a record was read with is no part of what it is written with. */
function withoutAttributes(object: ValueMap): ValueMap {
  if (!attributes.some((name) => object.has(name))) return object;
  const properties = new Map<string, Value>(object);
  for (const name of attributes) properties.delete(name);
  return properties;
}
