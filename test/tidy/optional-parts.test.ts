import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SourceFile, sourceFiles } from './source-tree.ts';

// One source outside the code cache costs a server 25 MB (server/plan/optional-parts.ts), and nothing else shows it.
const files = new Map(sourceFiles('server').map((file) => [file.path, file]));

const dynamic = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

/** What a file loads only when it is told to. */
function loadedLater({ text }: SourceFile): ReadonlySet<string> {
  return new Set([...text.matchAll(dynamic)].map(([, specifier]) => specifier ?? ''));
}

function reached(first: readonly string[], follows: 'all' | 'at once'): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...first];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = files.get(path);
    if (file === undefined || found.has(path)) continue;
    found.add(path);
    const later = loadedLater(file);
    for (const { specifier, path: target } of file.imports)
      if (target !== undefined && (follows === 'all' || !later.has(specifier)))
        waiting.push(target);
  }
  return found;
}

test('whoever fills the code cache loads all that a server may load', () => {
  const start = 'server/plan/start.ts';
  const parts = 'server/plan/optional-parts.ts';
  const named = files.get(parts)?.imports.flatMap(({ path }) => path ?? []) ?? [];
  const cached = reached([start, ...named], 'at once');
  const missing = [...reached([start], 'all')].filter((path) => !cached.has(path));
  assert.deepEqual(missing, [], `name them in ${parts}`);
});
