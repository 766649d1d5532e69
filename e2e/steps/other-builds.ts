import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { must } from './programs.ts';

/** Another build of the product, made of the image under test. */
export interface OtherBuild {
  readonly version: string;
  /** What `sed` does to the file of its formats. */
  readonly formats?: string;
}

/** Builds them, and hands them to the nodes. @returns their names, in order */
export async function makeBuilds(
  image: string,
  builds: readonly OtherBuild[],
): Promise<readonly string[]> {
  const loader = process.env['E2E_IMAGE_LOADER'];
  if (loader === undefined) throw new Error('E2E_IMAGE_LOADER hands no images to nodes');
  const state = image.slice(image.lastIndexOf('-') + 1);
  const names = builds.map(({ version }) => `polyad:${version}-${state}`);
  for (const [at, { version, formats }] of builds.entries()) {
    const changes = [`sed -i 's/"version": "[^"]*"/"version": "${version}"/' package.json`];
    if (formats !== undefined) changes.push(`sed -i '${formats}' server/cluster/features.ts`);
    const run = `RUN ${changes.join(' && ')}`;
    const dockerfile = [`FROM ${image}`, 'USER 0', run, 'USER 1000:1000', ''].join('\n');
    await must('docker', ['build', '--network=none', '-t', names[at] ?? '', '-'], dockerfile);
  }
  const folder = mkdtempSync(join(tmpdir(), 'polyad-e2e-builds-'));
  try {
    const archive = join(folder, 'builds.tar');
    await must('docker', ['save', '-o', archive, ...names]);
    await must(loader, [archive]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return names;
}
