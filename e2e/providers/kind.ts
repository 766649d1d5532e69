import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { must, run } from '../steps/programs.ts';
import type { Provider } from './provider.ts';

/** Machines with limits of their own need another one. */
const config =
  process.env['E2E_KIND_CONFIG'] ?? resolve(import.meta.dirname, '../kind/cluster.yaml');
const waitSeconds = 180;

/**
 * A cluster of our own with kind: made for the run and gone after it. `version`, such as v1.34.0, chooses the node image.
 * @returns why there is none, with the last words of kind
 */
export async function kindProvider(
  runName: string,
  version: string | undefined,
): Promise<Provider | string> {
  const name = `pyd-e2e-${runName}`;
  const folder = mkdtempSync(join(tmpdir(), 'polyad-kind-'));
  const kubeconfig = join(folder, 'config');
  const image = process.env['E2E_KIND_IMAGE'] ?? (version && `kindest/node:${version}`);
  const made = await run('kind', [
    ...['create', 'cluster', '--name', name, '--config', config, '--kubeconfig', kubeconfig],
    ...['--wait', `${waitSeconds}s`, ...(image ? ['--image', image] : [])],
  ]);
  if (!made.isGood)
    return `kind could not make a cluster:\n${made.error.trim().split('\n').slice(-12).join('\n')}`;
  process.env['KUBECONFIG'] = kubeconfig;
  return {
    name: 'kind',
    context: `kind-${name}`,
    imageLoader: `kind load image-archive --name ${name}`,
    async node(node, action, words) {
      if (action === 'exec') return must('docker', ['exec', '-i', node, ...words]);
      const command = {
        pause: 'pause',
        resume: 'unpause',
        stop: 'stop',
        kill: 'kill',
        start: 'start',
      };
      const output = await must('docker', [command[action as keyof typeof command], node]);
      if (action === 'start')
        await must('kubectl', ['wait', '--for=condition=Ready', `node/${node}`, '--timeout=120s']);
      return output;
    },
    async down() {
      await run('kind', ['delete', 'cluster', '--name', name, '--kubeconfig', kubeconfig]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
