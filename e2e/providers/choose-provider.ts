import { e2eSettings } from '../settings.ts';
import { isOnPath, must, run } from '../steps/programs.ts';
import { kindProvider } from './kind.ts';
import type { Provider } from './provider.ts';

const none =
  'no Kubernetes: set KUBECONFIG (a cluster of your own), or start Docker and install kind; E2E_PROVIDER=sim runs only the crash tests of the operator';

async function hasDocker(): Promise<boolean> {
  return isOnPath('kind') && isOnPath('docker') && (await run('docker', ['info'])).isGood;
}

/**
 * The first match of the e2e text, section 2: what `E2E_PROVIDER` says; `existing` where KUBECONFIG is set; `kind` where Docker
 * answers and kind is there.
 * @returns a sentence when nothing can run here
 */
export async function chooseProvider(runName: string): Promise<Provider | string> {
  const { provider } = e2eSettings;
  if (provider === 'sim') return 'E2E_PROVIDER=sim runs only the crash tests: npm run e2e:sim';
  if (provider !== undefined && provider !== 'existing' && provider !== 'kind')
    return `E2E_PROVIDER=${provider} is not known: use existing, kind or sim`;
  const wanted = e2eSettings.helm === '' ? ['helm3', 'helm', 'helm4'] : [e2eSettings.helm];
  const helm = wanted.find(isOnPath);
  if (!isOnPath('kubectl') || helm === undefined)
    return `${none}; kubectl and helm (3.16 or 4) are needed`;
  e2eSettings.helm = helm;
  const isExisting =
    provider === 'existing' || (provider === undefined && process.env['KUBECONFIG']);
  if (isExisting) return existingProvider();
  if (!(await hasDocker())) return none;
  return kindProvider(runName, e2eSettings.kubernetesVersion);
}

async function existingProvider(): Promise<Provider | string> {
  const current = await run('kubectl', ['config', 'current-context']);
  if (!current.isGood) return none;
  const context = current.output.trim();
  const { context: allowed, allowsNodeChaos, nodeHook } = e2eSettings;
  if (allowed !== context) return `set E2E_CONTEXT=${context} to allow tests there`;
  return {
    name: 'existing',
    context,
    imageLoader: process.env['E2E_IMAGE_LOADER'],
    node:
      allowsNodeChaos && nodeHook
        ? (node, action, words) => must(nodeHook, [node, action, ...words])
        : undefined,
    async down() {},
  };
}
