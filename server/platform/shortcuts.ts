import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/*
 * Ways that lean on what one version of V8 or of a package does and nobody promises. Each is kept for a figure in the DECISIONS.md of
 * its room, is left by itself with another version, and can be switched off to be measured: POLYAD_WITHOUT names some, with
 * commas. The plain way beside each is tested like the quick one.
 */

/** What each leans on; undefined: on nothing but our own code. */
const leansOn = {
  'code-optimization': 'v8',
  'collector-helpers': 'v8',
  'heap-growth': 'v8',
  'memory-return': 'v8',
  'tick-shape': 'v8',
  'young-generation': 'v8',
  'write-instructions': 'lmdb',
  'known-paths': undefined,
  'line-templates': undefined,
  'csv-matcher': undefined,
} as const;

export type Shortcut = keyof typeof leansOn;

/** The versions that they were written for. */
const writtenFor = { v8: /^13\.6\./, lmdb: /^3\.5\.6$/ } as const;

/** Versions that run, and the shortcuts that are switched off. */
export interface ShortcutSurroundings {
  readonly v8: string;
  readonly lmdb: string;
  readonly without: string;
}

const here: ShortcutSurroundings = {
  v8: process.versions.v8,
  lmdb: versionOf('lmdb'),
  without: process.env['POLYAD_WITHOUT'] ?? '',
};

/** Whether the shortcut is taken here. */
export function takesShortcut(shortcut: Shortcut, around = here): boolean {
  const what = leansOn[shortcut];
  if (what !== undefined && !writtenFor[what].test(around[what])) return false;
  return !around.without.split(',').includes(shortcut);
}

/** Of an installed package; empty when it does not tell. */
function versionOf(name: string): string {
  try {
    const path = findPackageJSON(name, import.meta.url);
    if (path === undefined) return '';
    const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version?: string };
    return version ?? '';
  } catch {
    return '';
  }
}
