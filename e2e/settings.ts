/** What the environment says of a run (e2e text, 2.4). */
export const e2eSettings = {
  provider: process.env['E2E_PROVIDER'],
  level: Number(process.env['E2E_LEVEL'] ?? '1'),
  only: new Set((process.env['E2E_ONLY'] ?? '').split(',').filter((id) => id !== '')),
  parallel: Number(process.env['E2E_PARALLEL'] ?? '2'),
  keep: process.env['E2E_KEEP'] === '1',
  artifacts: process.env['E2E_ARTIFACTS'],
  context: process.env['E2E_CONTEXT'],
  allowsNodeChaos: process.env['E2E_ALLOW_NODE_CHAOS'] === '1',
  nodeHook: process.env['E2E_NODE_HOOK'],
  image: process.env['E2E_SERVER_IMAGE'],
  helm: process.env['E2E_INSTALL'] === 'helm4' ? 'helm4' : 'helm3',
} as const;
