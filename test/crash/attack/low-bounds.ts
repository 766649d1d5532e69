import { appendFileSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { FoldNote } from './fold-notes.ts';

// `node --import ./test/crash/attack/low-bounds.ts`: loads the product with lower bounds of what waits beside the chunks of a text index,
// so that a few hundred texts bring what millions do. What it did of that is noted, a letter each, in the file that FOLD_NOTES names.

type Edit = readonly [from: string, to: string];

const notes = process.env['FOLD_NOTES'] ?? '';
(globalThis as { noteFold?: (letter: FoldNote) => void }).noteFold = (letter) => {
  if (notes !== '') appendFileSync(notes, letter);
};

const edits: Readonly<Record<string, readonly Edit[]>> = {
  'server/storage/commit/entry-folds.ts': [
    ['countMin: 65_536, share: 1 / 4', 'countMin: 600, share: 1 / 200'],
    ['quietMs = 250', 'quietMs = 40 + (process.pid % 4) * 200'],
    ['countMin: 1_048_576, share: 1 / 2', 'countMin: 800, share: 1 / 100'],
    ['chunkMax: 256, changeMax: 8_192', 'chunkMax: 8, changeMax: 300'],
    ['foldedMin = 16_384', 'foldedMin = 400'],
    ['chunksForEach = 1 / 64', 'chunksForEach = 1 / 40'],
    ['const { next, left } = yield*', "noteFold('f');\n const { next, left } = yield*"],
    [
      'besideChunks.set(index, countBeside(index));',
      "{ besideChunks.set(index, countBeside(index)); noteFold('e'); }",
    ],
    ['next = await entries.fold', "noteFold('q');\n next = await entries.fold"],
  ],
  'server/storage/commit/segment-writes.ts': [
    ['smallMax = 65_536', 'smallMax = 400'],
    ['segmentsMax = 24', 'segmentsMax = 8'],
    ['entriesPerStep = 4_096', 'entriesPerStep = 50'],
    ['keysPerStep = 512', 'keysPerStep = 4'],
    [
      'const changes = new ChangeMerge',
      "noteFold(absorbedCount > 0 ? 'a' : 's');\n const changes = new ChangeMerge",
    ],
  ],
  'server/storage/commit/entry-builder.ts': [
    [
      'await inTurns(this.#merge(index, { additions',
      "noteFold('m'), await inTurns(this.#merge(index, { additions",
    ],
  ],
  'server/storage/commit/chunk-merge.ts': [['entriesPerStep = 4_096', 'entriesPerStep = 50']],
  'server/storage/commit/long-values.ts': [['longRowBytes = 64 * 1024', 'longRowBytes = 4 * 1024']],
  'server/index/text/term-pieces.ts': [['longTextUnits = 16 * 1024', 'longTextUnits = 1024']],
  'server/storage/log/commit-log.ts': [
    ['logGroupBytesMax = 512 * 1024', 'logGroupBytesMax = 64 * 1024'],
  ],
  'server/storage/checkpoint/entry-block.ts': [
    ['blockEntriesMax = 16_384', 'blockEntriesMax = 128'],
  ],
  'server/storage/checkpoint/checkpointer.ts': [
    ['delayMsMin = 50', 'delayMsMin = 5'],
    ['restFactor = 40', 'restFactor = 1'],
    ['dirtyValuesMax = 2_048', 'dirtyValuesMax = 200'],
  ],
};
const files = Object.keys(edits);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const file = files.find((one) => url.endsWith(`/${one}`));
    if (file === undefined) return loaded;
    let source = readFileSync(fileURLToPath(url), 'utf8');
    for (const [from, to] of edits[file] ?? []) {
      if (source.split(from).length !== 2) throw new Error(`'${from}' is not once in ${file}`);
      source = source.replace(from, () => to);
    }
    return { ...loaded, source };
  },
});
