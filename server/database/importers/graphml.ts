import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { DatabaseError } from '#core/errors.ts';
import { parseInteger } from '#core/value/number-text.ts';
import { noRid } from '#core/value/rid.ts';
import { double, type Value } from '#core/value/value.ts';
import { bidirectionalMark } from '../operations/export/one-way-mark.ts';
import type { ImportJob } from './import-job.ts';
import { textOf } from './lines.ts';
import { edgePropertyName, propertyName } from './property-names.ts';

/** A node or an edge, complete. */
interface GraphElement {
  readonly isEdge: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly data: Map<string, string>;
}

interface KeyDeclaration {
  readonly name: string;
  readonly type: string;
  readonly default: string | undefined;
  readonly for: string;
}

/**
 * GraphML (http-api.md 18.5). The file is read twice, since edges may stand before their nodes. The type of a node is its
 * `labelV`, its attribute or its data, that of an edge `labelE`. Entities that a document declares are not expanded, so none
 * can grow.
 */
export async function importGraphml(job: ImportJob): Promise<void> {
  const { sink, settings, reporter } = job;
  await eachElement(job, async ({ isEdge, attributes, data }, keys) => {
    if (isEdge) return;
    const type = label('labelV', attributes, data, keys) ?? settings.graphmlTypes.vertex;
    await sink.requireType('vertex', type);
    const properties = sink.rowOrSkip(() => propertiesOf('node', data, keys, 'labelV'));
    if (properties === undefined) return;
    sink.addRecord('vertex', type, properties, { id: attributes['id'] });
  });
  await sink.flush();
  reporter.step('edges', undefined);
  await eachElement(job, async ({ isEdge, attributes, data }, keys) => {
    if (!isEdge) return;
    const from = sink.ridOf(attributes['source'] ?? '');
    const to = sink.ridOf(attributes['target'] ?? '');
    if (from === noRid || to === noRid) {
      sink.counts.warnings += 1;
      return;
    }
    const type = label('labelE', attributes, data, keys) ?? settings.graphmlTypes.edge;
    await sink.requireType('edge', type);
    const properties = sink.rowOrSkip(() => propertiesOf('edge', data, keys, 'labelE'));
    if (properties === undefined) return;
    const isOneWay = properties.get(bidirectionalMark) === false;
    properties.delete(bidirectionalMark);
    sink.addEdge(type, from, to, properties, { isOneWay });
  });
}

type Keys = ReadonlyMap<string, KeyDeclaration>;

async function eachElement(
  job: ImportJob,
  handle: (element: GraphElement, keys: Keys) => Promise<void>,
): Promise<void> {
  const { open, sink } = job;
  const reader = new GraphmlReader(job.lineBytesMax);
  for await (const piece of textOf(await open())) {
    reader.write(piece);
    for (const element of reader.elements.splice(0)) {
      await handle(element, reader.keys);
      await sink.pace();
    }
    // A piece without elements is work as well.
    await sink.pace();
  }
  reader.close();
}

/** The events of a document put together to elements. */
class GraphmlReader {
  readonly keys = new Map<string, KeyDeclaration>();
  readonly elements: GraphElement[] = [];
  readonly #parser = new SaxesParser();
  readonly #textMax: number;
  #element: GraphElement | undefined;
  /** Where text goes: data of an element by key, or the default of a key. */
  #dataKey: string | undefined;
  #defaultOf: string | undefined;
  #text: string[] = [];
  #textLength = 0;
  #isGraphml = false;

  constructor(textMax: number) {
    this.#textMax = textMax;
    this.#parser.on('error', (error) => {
      throw new DatabaseError('Validation', `the GraphML document is wrong: ${error.message}`);
    });
    this.#parser.on('opentag', (tag) => this.#open(tag));
    this.#parser.on('closetag', (tag) => this.#close(localName(tag.name)));
    this.#parser.on('text', (text) => this.#addText(text));
    this.#parser.on('cdata', (text) => this.#addText(text));
  }

  write(piece: string): void {
    this.#parser.write(piece);
  }

  close(): void {
    this.#parser.close();
    if (!this.#isGraphml)
      throw new DatabaseError('Validation', "the document has no element 'graphml'");
  }

  #open(tag: SaxesTagPlain): void {
    const { attributes } = tag;
    switch (localName(tag.name)) {
      case 'graphml':
        this.#isGraphml = true;
        break;
      case 'key':
        this.#declare(attributes);
        break;
      case 'default':
        this.#text = [];
        break;
      case 'node':
      case 'edge':
        this.#element = { isEdge: localName(tag.name) === 'edge', attributes, data: new Map() };
        break;
      case 'data':
        this.#dataKey = attributes['key'];
        this.#text = [];
        this.#textLength = 0;
        break;
      default:
        break;
    }
  }

  #declare(attributes: Readonly<Record<string, string>>): void {
    const id = attributes['id'] ?? '';
    this.#defaultOf = id;
    this.keys.set(id, {
      name: attributes['attr.name'] ?? id,
      type: attributes['attr.type'] ?? 'string',
      default: undefined,
      for: attributes['for'] ?? 'all',
    });
  }

  #close(name: string): void {
    switch (name) {
      case 'data':
        if (this.#dataKey !== undefined)
          this.#element?.data.set(this.#dataKey, this.#text.join(''));
        this.#dataKey = undefined;
        break;
      case 'default': {
        const key = this.keys.get(this.#defaultOf ?? '');
        if (key !== undefined && this.#defaultOf !== undefined)
          this.keys.set(this.#defaultOf, { ...key, default: this.#text.join('') });
        break;
      }
      case 'key':
        this.#defaultOf = undefined;
        break;
      case 'node':
      case 'edge':
        if (this.#element !== undefined) this.elements.push(this.#element);
        this.#element = undefined;
        break;
      default:
        break;
    }
  }

  #addText(text: string): void {
    if (this.#dataKey === undefined && this.#defaultOf === undefined) return;
    this.#textLength += text.length;
    if (this.#textLength > this.#textMax)
      throw new DatabaseError('TooLarge', `a value is longer than ${this.#textMax} characters`);
    this.#text.push(text);
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The type of an element: an attribute, or data of that key or of a key with that name. */
function label(
  name: string,
  attributes: Readonly<Record<string, string>>,
  data: ReadonlyMap<string, string>,
  keys: Keys,
): string | undefined {
  const own = attributes[name] ?? data.get(name);
  if (own !== undefined && own !== '') return own;
  for (const [key, value] of data) if (keys.get(key)?.name === name && value !== '') return value;
  const plain = attributes['label'] ?? data.get('label');
  return plain?.replace(/^:/, '').split(':')[0] || undefined;
}

function propertiesOf(
  kind: 'node' | 'edge',
  data: ReadonlyMap<string, string>,
  keys: Keys,
  labelName: string,
): Map<string, Value> {
  const properties = new Map<string, Value>();
  const nameOf = kind === 'edge' ? edgePropertyName : propertyName;
  for (const [id, key] of keys) {
    if (key.default === undefined || (key.for !== kind && key.for !== 'all')) continue;
    if (!data.has(id) && key.name !== labelName)
      properties.set(nameOf(key.name), typedValue(key.default, key));
  }
  for (const [id, text] of data) {
    const key = keys.get(id);
    const name = key?.name ?? id;
    // Some writers give types in a column `label` or `labels`.
    const isLabel = name === labelName || id === labelName || (id === 'label' && key === undefined);
    if (isLabel) continue;
    properties.set(nameOf(name), key === undefined ? text : typedValue(text, key));
  }
  return properties;
}

const numberShape = /^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?)\s*$/;

/** A value by its declared type. @throws DatabaseError `Validation` for a text that is none of that type */
function typedValue(text: string, { name, type }: KeyDeclaration): Value {
  const value = parsedValue(text, type);
  if (value !== undefined) return value;
  throw new DatabaseError(
    'Validation',
    `attribute '${name.slice(0, 100)}' is declared as ${type}, '${text.slice(0, 100)}' is none`,
  );
}

/** @returns undefined when the text is not of that type */
function parsedValue(text: string, type: string): Value | undefined {
  switch (type) {
    case 'boolean':
      return /^\s*(true|1)\s*$/i.test(text)
        ? true
        : /^\s*(false|0)\s*$/i.test(text)
          ? false
          : undefined;
    case 'int':
    case 'integer':
    case 'long':
      return parseInteger(text.trim());
    case 'float':
    case 'double':
      return numberShape.test(text) ? double(Number(text)) : notFinite.get(text.trim());
    default:
      return text;
  }
}

const notFinite: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);
