import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

// `node --import ./test/chaos/newer-build.ts`: this build with one feature more, in every thread. The tree is the older build beside it.

const file = '/server/cluster/features.ts';
const from = 'export const features: readonly string[] = [];';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(file)) return loaded;
    const source = readFileSync(fileURLToPath(url), 'utf8');
    if (!source.includes(from)) throw new Error(`${file} has no '${from}'`);
    return { ...loaded, source: source.replace(from, from.replace(' = []', " = ['greeting']")) };
  },
});
