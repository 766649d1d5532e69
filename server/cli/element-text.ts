/**
 * Nodes, relationships and paths inside of a row as Cypher writes them: `(:Person {name: 'Ada'})-[:KNOWS {since: 2020}]->(:Person)`.
 * A list of them is their texts; anything else is left to the caller.
 */
export function elementText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.map(elementText);
    return value.length === 0 || texts.includes(undefined) ? undefined : `[${texts.join(', ')}]`;
  }
  const fields = fieldsOf(value);
  switch (fields?.['@cat']) {
    case 'v':
      return nodeText(fields);
    case 'e':
      return relationshipText(fields);
    case 'path':
      return pathText(fields);
    default:
      return undefined;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
}

function nodeText(fields: Fields): string {
  return `(${labelled(fields)})`;
}

function relationshipText(fields: Fields): string {
  return `[${labelled(fields)}]`;
}

/** Each relationship points as it does in the graph, whichever way the path goes. */
function pathText(fields: Fields): string {
  const [nodes, relationships] = [listOf(fields['nodes']), listOf(fields['relationships'])];
  const parts = relationships.map((relationship, at) => {
    const isForward = relationship['@out'] === nodes[at]?.['@rid'];
    const text = relationshipText(relationship);
    return `${isForward ? '' : '<'}-${text}-${isForward ? '>' : ''}${nodeText(nodes[at + 1] ?? {})}`;
  });
  return nodeText(nodes[0] ?? {}) + parts.join('');
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map((item) => fieldsOf(item) ?? {}) : [];
}

/** `:A:B {name: 'x'}`; a type of several labels is their names with `~` between them. */
function labelled(fields: Fields): string {
  const type = String(fields['@type'] ?? '');
  // Nodes without a label have a type that nobody can name.
  const labels = type.startsWith('~') ? [] : type.split('~').map((name) => `:${named(name)}`);
  const properties = Object.entries(fields)
    .filter(([name]) => !name.startsWith('@'))
    .map(([name, value]) => `${named(name)}: ${literal(value)}`);
  const text = labels.join('');
  if (properties.length === 0) return text;
  return `${text}${text === '' ? '' : ' '}{${properties.join(', ')}}`;
}

function named(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;
}

function literal(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
