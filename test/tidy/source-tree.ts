import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** The checkout, and every TypeScript file of it with its imports, read once per test process. */
export const rootDirectory = resolve(import.meta.dirname, '../..');

export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly imports: readonly ImportedModule[];
}

export interface ImportedModule {
  /** As written. */
  readonly specifier: string;
  /** Path from the root for files of this project; undefined for packages and `node:` modules. */
  readonly path: string | undefined;
  readonly line: number;
}

const packageManifest = JSON.parse(readFileSync(join(rootDirectory, 'package.json'), 'utf8')) as {
  imports: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

export const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries(packageManifest.imports).map(([key, value]) => [
    key.replace('/*', ''),
    value.replace('./', '').replace('/*', ''),
  ]),
);

export const declaredPackages: ReadonlySet<string> = new Set([
  ...Object.keys(packageManifest.dependencies),
  ...Object.keys(packageManifest.devDependencies),
]);

export const productionPackages: ReadonlySet<string> = new Set(
  Object.keys(packageManifest.dependencies),
);

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s(?:[^;'"]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|new URL\(\s*['"]([^'"]+\.ts)['"]\s*,\s*import\.meta\.url/g;

/** Packages that a test has installed beside itself (`npm run mcp:clients`). */
const installed = /(?:^|[\\/])node_modules[\\/]/;

/** All `.ts` files below the folders, sorted. */
export function sourceFiles(...folders: readonly string[]): readonly SourceFile[] {
  return folders.flatMap((folder) => filesBelow(folder, '.ts')).map(readSource);
}

/** Paths from the root of all files below the folder that end with `ending`, sorted. */
export function filesBelow(folder: string, ending: string): readonly string[] {
  let entries: readonly string[];
  try {
    entries = readdirSync(join(rootDirectory, folder), { recursive: true, encoding: 'utf8' });
  } catch {
    return [];
  }
  return entries
    .filter((entry) => entry.endsWith(ending) && !installed.test(entry))
    .map((entry) => `${folder}/${entry.replaceAll('\\', '/')}`)
    .sort();
}

/** Folders directly below `folder`. */
export function foldersIn(folder: string): readonly string[] {
  return readdirSync(join(rootDirectory, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${folder}/${entry.name}`)
    .sort();
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(rootDirectory, path), 'utf8');
  return { path, text, lines: text.split('\n'), imports: importsOf(path, text) };
}

function importsOf(path: string, text: string): ImportedModule[] {
  const found: ImportedModule[] = [];
  for (const match of text.matchAll(importPattern)) {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    const line = text.slice(0, match.index + match[0].length).split('\n').length;
    found.push({ specifier, path: resolveSpecifier(path, specifier), line });
  }
  return found;
}

function resolveSpecifier(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    return relative(rootDirectory, resolve(rootDirectory, dirname(from), specifier));
  }
  const alias = specifier.split('/')[0] ?? '';
  const target = aliases.get(alias);
  return target === undefined ? undefined : `${target}${specifier.slice(alias.length)}`;
}
