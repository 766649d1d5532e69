import { DatabaseError } from '#core/errors.ts';

/**
 * Formats that others import and this server does not (http-api.md 18.5): a file in one of them is refused by the name of the
 * format, since reading it as the nearest known one would make rows of nonsense.
 */

const byName: ReadonlyMap<string, string> = new Map([
  ['xml', 'XML'],
  ['rdf', 'RDF'],
  ['turtle', 'RDF'],
  ['ntriples', 'RDF'],
  ['neo4j', 'Neo4j exports'],
  ['word2vec', 'word vectors'],
  ['glove', 'word vectors'],
]);

const byExtension: ReadonlyMap<string, string> = new Map([
  ...['rdf', 'ttl', 'nt', 'nq', 'n3', 'trig', 'owl', 'rdfs', 'jsonld'].map(
    (extension) => [extension, 'RDF'] as const,
  ),
  ['dump', 'database dumps'],
  ...['vec', 'w2v', 'glove', 'word2vec'].map((extension) => [extension, 'word vectors'] as const),
]);

/** @param format in lower case, as a setting names it @throws DatabaseError `NotSupported` */
export function refuseUnsupportedFormat(format: string): void {
  const found = byName.get(format);
  if (found !== undefined) throw notSupported(found);
}

/**
 * @param extension in lower case, or undefined @param start of the content, without white space
 * @throws DatabaseError `NotSupported`
 */
export function refuseUnsupportedFile(extension: string | undefined, start: string): void {
  const found = formatByContent(extension, start) ?? byExtension.get(extension ?? '');
  if (found !== undefined) throw notSupported(found);
}

function formatByContent(extension: string | undefined, start: string): string | undefined {
  if (/^\{\s*"type"\s*:\s*"(node|relationship)"\s*,/.test(start) && /"labels?"\s*:/.test(start))
    return 'Neo4j exports';
  // N-Triples, and the directives that Turtle begins with.
  if (/^<[a-z][a-z0-9+.-]*:[^<>\s]*>\s/i.test(start)) return 'RDF';
  if (/^(@(prefix|base)|prefix|base)\s+\S*\s*<[^<>\s]*>/i.test(start)) return 'RDF';
  if (!start.startsWith('<')) return undefined;
  const root = rootElement(start);
  if (root === undefined || /^(\w+:)?graphml$/i.test(root)) return undefined;
  if (/^(\w+:)?rdf$/i.test(root) || extension === 'rdf' || extension === 'owl') return 'RDF';
  return 'XML';
}

/** The name of the first element of a document; undefined when it does not begin within what is known of it. */
function rootElement(text: string): string | undefined {
  let rest = text;
  for (;;) {
    rest = rest.trimStart();
    const end = endOfProlog(rest);
    if (end === undefined) return /^<([^\s/>]+)[\s/>]/.exec(rest)?.[1];
    if (end < 0) return undefined;
    rest = rest.slice(end);
  }
}

/** Where a declaration, comment or document type at the start ends; -1: not in this text; undefined: there is none. */
function endOfProlog(text: string): number | undefined {
  const [mark, length] = text.startsWith('<?')
    ? ['?>', 2]
    : text.startsWith('<!--')
      ? ['-->', 3]
      : text.startsWith('<!')
        ? ['>', 1]
        : ['', 0];
  if (length === 0) return undefined;
  const bracket = text.indexOf('[');
  const hasSubset = mark === '>' && bracket >= 0 && bracket < text.indexOf('>');
  const at = hasSubset ? text.indexOf('>', text.indexOf(']')) : text.indexOf(mark);
  return at < 0 ? -1 : at + length;
}

function notSupported(thing: string): DatabaseError {
  return new DatabaseError('NotSupported', `not supported: import of ${thing}`);
}
