import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeNamespaces } from '../abandoned-runs.ts';
import { isOnPath, must, run } from '../steps/programs.ts';

/*
 * Programs that the chart is tried out with on a real cluster: helm, kubectl, and requests from inside the cluster. Namespaces
 * are `pyd-e2e-*`; KUBECONFIG, E2E_CONTEXT and E2E_SERVER_IMAGE say where and with what (e2e text, 2.1).
 */

export const chart = resolve(import.meta.dirname, '../../chart');

export const helms = ['helm3', 'helm4'].filter(isOnPath);

export const image = process.env['E2E_SERVER_IMAGE'] ?? '';

/** Why nothing can be tried here, or false. Refuses a cluster that nobody has allowed. */
export async function whySkip(): Promise<string | false> {
  if (!isOnPath('kubectl') || helms.length === 0) return 'no kubectl, helm3 or helm4 on the path';
  if (image === '') return 'E2E_SERVER_IMAGE is not set (e2e/build-image.sh prints it)';
  const { isGood, output } = await run('kubectl', ['config', 'current-context']);
  if (!isGood) return 'no Kubernetes: set KUBECONFIG';
  const context = output.trim();
  if (process.env['E2E_CONTEXT'] !== context)
    return `set E2E_CONTEXT=${context} to allow tests there`;
  return false;
}

/** `--set` for the image under test. */
export function imageValues(): readonly string[] {
  const colon = image.lastIndexOf(':');
  return ['--set', `image.repository=${image.slice(0, colon)},image.tag=${image.slice(colon + 1)}`];
}

/** A namespace of its own that admits restricted pods only. What a run that was killed left of that name goes first. */
export async function makeNamespace(name: string): Promise<void> {
  if ((await run('kubectl', ['get', 'namespace', name])).isGood) {
    await removeNamespaces([{ name, hasOperator: true }]);
    await run('kubectl', ['wait', '--for=delete', `namespace/${name}`, '--timeout=120s']);
  }
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
  await must('kubectl', ['apply', '-f', '-'], JSON.stringify(object));
}

export async function deleteNamespaces(...names: readonly string[]): Promise<void> {
  await run('kubectl', ['delete', 'namespace', '--ignore-not-found', '--wait=false', ...names]);
}

/** A request as root to `url`, sent by the first member; the password stays in the pod. @returns status and body */
export async function ask(
  namespace: string,
  pod: string,
  request: { readonly url: string; readonly body?: object },
): Promise<{ readonly status: number; readonly body: string }> {
  const script = `
    const fs = require('node:fs');
    const password = fs.readFileSync('/etc/polyad/root/rootPassword', 'utf8').trim();
    const request = JSON.parse(process.argv[1]);
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    fetch(request.url, {
      method: request.body ? 'POST' : 'GET',
      headers: { Authorization: 'Basic ' + Buffer.from('root:' + password).toString('base64') },
      body: request.body && JSON.stringify(request.body),
    }).then(async (answer) => {
      console.log(JSON.stringify({ status: answer.status, body: await answer.text() }));
    });`;
  const words = ['-n', namespace, 'exec', pod, '-c', 'server', '--'];
  const output = await must('kubectl', [
    ...words,
    'node',
    '--no-warnings',
    '-e',
    script,
    JSON.stringify(request),
  ]);
  return JSON.parse(output) as { status: number; body: string };
}

/** Runs `use` with a directory that goes away. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'polyad-e2e-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function writeValues(folder: string, values: object): readonly string[] {
  const path = join(folder, 'values.json');
  writeFileSync(path, JSON.stringify(values));
  return ['--values', path];
}
