import type { TypeDefinition } from '#catalog/catalog.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import { formatRid } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import { TargetLists } from '#transaction/write/target-lists.ts';
import { type ExportSource, recordPieces } from './reader.ts';
import { bidirectionalMark, isOneWay } from './one-way-mark.ts';

// GraphML as TinkerPop reads and writes it (http-api.md 18.5): types stand in `labelV` and `labelE`, properties are declared
// first. It carries texts, booleans and numbers; other values become texts, null values and documents are left out, and each of
// them counts as a warning. Edges that only their sources list are marked.

type AttributeType = 'boolean' | 'int' | 'long' | 'double' | 'string';

const graphKinds = ['vertex', 'edge'] as const;

/** The pieces of a GraphML document. The database is read twice: what properties there are must be said first. */
export async function* graphmlPieces(
  source: ExportSource,
  formats: TemporalFormats,
): AsyncGenerator<string> {
  const keys = new AttributeKeys();
  const scan = { ...source, totals: { ...source.totals } };
  const targets = new TargetLists(source.view.snapshot);
  const collect = (record: StoredRecord, type: TypeDefinition) =>
    keys.collect(record, isOneWay(record, type, targets));
  for await (const _piece of recordPieces(scan, graphKinds, collect)) {
    // Nothing is written yet.
  }
  source.totals.warnings += documentCount(source);
  yield `<?xml version="1.0" encoding="UTF-8"?>\n`;
  yield `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n${keys.declarations()}`;
  yield `  <graph id="${escaped(source.name)}" edgedefault="directed">\n`;
  yield* recordPieces(source, graphKinds, (record, type) =>
    element(record, { keys, source, formats, isMarked: isOneWay(record, type, targets) }),
  );
  yield '  </graph>\n</graphml>\n';
}

function documentCount({ view }: ExportSource): number {
  let count = 0;
  for (const type of view.catalog.types())
    if (type.kind === 'document')
      for (const bucket of type.buckets) count += view.recordCount(bucket);
  return count;
}

/** The properties of vertices and of edges, each with a type that holds all of its values. */
class AttributeKeys {
  readonly #types = {
    vertex: new Map<string, AttributeType>(),
    edge: new Map<string, AttributeType>(),
    document: new Map<string, AttributeType>(),
  };

  /** @returns nothing to write */
  collect(record: StoredRecord, isMarked: boolean): string {
    if (isMarked) this.#types.edge.set(bidirectionalMark, 'boolean');
    const types = this.#types[record.kind];
    for (const name of record.propertyNames()) {
      const value = record.get(name);
      if (value === undefined || value === null) continue;
      const type = attributeType(value);
      const known = types.get(name);
      if (known !== type) types.set(name, known === undefined ? type : joined(known, type));
    }
    return '';
  }

  typeOf(kind: RecordKind, name: string): AttributeType | undefined {
    return this.#types[kind].get(name);
  }

  declarations(): string {
    const lines = [
      declaration('labelV', 'node', 'string'),
      declaration('labelE', 'edge', 'string'),
    ];
    for (const [name, type] of this.#types.vertex)
      lines.push(declaration(name, 'node', type, keyId('vertex', name)));
    for (const [name, type] of this.#types.edge)
      lines.push(declaration(name, 'edge', type, keyId('edge', name)));
    return lines.join('');
  }
}

/** One name may be of different types on vertices and edges, and may be that of a label. */
function keyId(kind: RecordKind, name: string): string {
  return `${kind === 'edge' ? 'e' : 'v'}.${name}`;
}

function declaration(name: string, of: 'node' | 'edge', type: AttributeType, id = name): string {
  return `  <key id="${escaped(id)}" for="${of}" attr.name="${escaped(name)}" attr.type="${type}"/>\n`;
}

function attributeType(value: Exclude<Value, null>): AttributeType {
  switch (kindOf(value)) {
    case 'boolean':
      return 'boolean';
    case 'integer':
      return typeof value === 'number' && value >= -(2 ** 31) && value < 2 ** 31 ? 'int' : 'long';
    case 'double':
      return 'double';
    default:
      return 'string';
  }
}

function joined(a: AttributeType, b: AttributeType): AttributeType {
  const isWhole = (type: AttributeType): boolean => type === 'int' || type === 'long';
  return isWhole(a) && isWhole(b) ? 'long' : 'string';
}

interface Writing {
  readonly keys: AttributeKeys;
  readonly source: ExportSource;
  readonly formats: TemporalFormats;
  readonly isMarked: boolean;
}

function element(record: StoredRecord, writing: Writing): string {
  const isEdge = record.kind === 'edge';
  const label = isEdge ? 'labelE' : 'labelV';
  const id = `id="${formatRid(record.rid)}"`;
  const head = isEdge
    ? `<edge ${id} source="${formatRid(record.out)}" target="${formatRid(record.in)}">`
    : `<node ${id}>`;
  const data = [`<data key="${label}">${escaped(record.typeName)}</data>`];
  if (writing.isMarked)
    data.push(`<data key="${escaped(keyId('edge', bidirectionalMark))}">false</data>`);
  for (const name of record.propertyNames()) {
    const value = record.get(name);
    if (value === undefined) continue;
    const text = value === null ? undefined : dataText(record, name, value, writing);
    if (text === undefined) writing.source.totals.warnings += 1;
    else data.push(`<data key="${escaped(keyId(record.kind, name))}">${text}</data>`);
  }
  return `    ${head}${data.join('')}</${isEdge ? 'edge' : 'node'}>\n`;
}

function dataText(
  record: StoredRecord,
  name: string,
  value: Exclude<Value, null>,
  { keys, source, formats }: Writing,
): string | undefined {
  const declared = keys.typeOf(record.kind, name);
  const own = attributeType(value);
  const isPlain = own !== 'string' || typeof value === 'string';
  // The value comes back as a text, or as a number of another kind.
  if (!isPlain || (declared === 'string' && own !== 'string')) source.totals.warnings += 1;
  const text = own === 'double' ? doubleText(value) : textOf(value, formats);
  if (hasNoXmlForm(text)) source.totals.warnings += 1;
  return escaped(text);
}

function doubleText(value: Value): string {
  const number = typeof value === 'number' ? value : (value as { readonly number: number }).number;
  if (Number.isNaN(number)) return 'NaN';
  if (!Number.isFinite(number)) return number > 0 ? 'Infinity' : '-Infinity';
  const text = String(number);
  return Number.isInteger(number) && !text.includes('e') ? `${text}.0` : text;
}

const unwritable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

function hasNoXmlForm(text: string): boolean {
  return unwritable.test(text);
}

/** Characters that XML 1.0 has no form for become the replacement character. */
function escaped(text: string): string {
  if (!/[<>&"\u0000-\u001f\ufffe\uffff]/.test(text)) return text;
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\t', '&#9;')
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');
}
