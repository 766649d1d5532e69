import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { mutants } from './mutants.ts';

// `node --import ./test/mutants/hook.ts` with MUTANT=<name>: loads the product with that one error in it, in every thread.
const name = process.env['MUTANT'] ?? '';
const mutant = mutants.find((known) => known.name === name);
if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
const left = new Set(mutant.edits.map(({ file }) => file));

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const edits = mutant.edits.filter(({ file }) => url.endsWith(`/${file}`));
    if (edits.length === 0) return loaded;
    let source = readFileSync(fileURLToPath(url), 'utf8');
    for (const { file, from, to } of edits) {
      // Checked before by run.ts: it is there once.
      source = source.replace(from, () => to);
      left.delete(file);
    }
    return { ...loaded, source };
  },
});
