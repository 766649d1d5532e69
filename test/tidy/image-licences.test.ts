import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

// The image leaves out what packages bring but nothing loads; texts of licences stay (Dockerfile).

const root = join(import.meta.dirname, '../..');
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');

function matcher(pattern: string, flags = ''): RegExp {
  const text = pattern.replace(/[.+^${}()|\\]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${text}$`, flags);
}

/** Patterns behind `-name` or `-iname` in a part of the instruction. */
function patternsIn(text: string | undefined, option: RegExp): readonly string[] {
  return [...(text ?? '').matchAll(option)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

const files = /find \. -type f \\\(([\s\S]*?)\\\)([\s\S]*?)-delete/.exec(dockerfile);
const removed = patternsIn(files?.[1], / -name (?:'([^']+)'|(\S+))/g).map((text) => matcher(text));
const kept = patternsIn(files?.[2], /! -iname (?:'([^']+)'|(\S+))/g).map((text) =>
  matcher(text, 'i'),
);

function staysInImage(file: string): boolean {
  return !removed.some((one) => one.test(file)) || kept.some((one) => one.test(file));
}

/** Directories of packages that are left out as a whole. */
const leftOut = (/rm -rf ([\s\S]*?)&& find/.exec(dockerfile)?.[1] ?? '')
  .split(/[\s\\]+/)
  .filter((pattern) => pattern !== '')
  .map((pattern) => matcher(pattern));

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly license?: string }>
  >;
}

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
const shipped = Object.entries(lock.packages)
  .filter(([path, { dev }]) => path.startsWith('node_modules/') && dev !== true)
  .map(([path]) => path.slice('node_modules/'.length))
  .filter((path) => existsSync(join(root, 'node_modules', path)))
  .filter((path) => !leftOut.some((one) => one.test(path) || one.test(path.split('/')[0] ?? '')));

test('the image keeps the text of the licence of each package, wherever the package has it', () => {
  assert.ok(removed.length > 5 && kept.length >= 4 && shipped.length > 50);
  for (const path of shipped) {
    const names = readdirSync(join(root, 'node_modules', path));
    const texts = names.filter((name) => /^(licen[cs]e|copying|notice|unlicen[cs]e)/i.test(name));
    for (const name of texts) assert.ok(staysInImage(name), `${path}/${name} is deleted`);
    if (texts.length > 0) continue;
    const readme = names.find((name) => /^readme/i.test(name));
    if (readme !== undefined) assert.ok(staysInImage(readme), `${path}/${readme} is deleted`);
  }
});
