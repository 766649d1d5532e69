import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

// `node --import`: a server whose databases take nothing that is applied while there is a file `cannot-apply` in its directory.

const file = '/server/storage/lmdb-engine.ts';
const from = '  apply(entries: readonly LogEntry[], isAlone = false): Promise<void> {\n';
const fails = `    if (process.getBuiltinModule('node:fs').existsSync('cannot-apply'))
      return Promise.reject(new Error('the disk takes nothing'));
`;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(file)) return loaded;
    const source = readFileSync(fileURLToPath(url), 'utf8');
    if (!source.includes(from)) throw new Error(`${file} has no '${from}'`);
    return { ...loaded, source: source.replace(from, from + fails) };
  },
});
