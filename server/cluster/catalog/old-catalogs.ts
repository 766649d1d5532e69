import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '#platform/files.ts';
import { type CatalogDocument, formatCatalog } from './catalog-document.ts';
import { oldCatalogName } from './entered-group.ts';

/** Catalogs of groups whose log is lost that stay beside the one in use: a server that keeps no log enters another group at each start. */
export const oldCatalogsMax = 8;

/** @returns the name of its file; the eldest go above `oldCatalogsMax` */
export async function keepOldCatalog(
  directory: string,
  document: CatalogDocument,
): Promise<string> {
  const name = oldCatalogName(document);
  await replaceFile(join(directory, name), formatCatalog(document));
  const names = (await readdir(directory)).filter((other) => /^catalog-of-.*\.json$/.test(other));
  const kept = await Promise.all(
    names.map(async (other) => ({ other, ms: (await stat(join(directory, other))).mtimeMs })),
  );
  const elder = kept
    .filter(({ other }) => other !== name)
    .sort((x, y) => y.ms - x.ms)
    .slice(oldCatalogsMax - 1);
  for (const { other } of elder) await rm(join(directory, other), { force: true });
  return name;
}
