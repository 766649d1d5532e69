import { removeNamespaces } from './abandoned-runs.ts';
import { must } from './steps/programs.ts';

// npm run e2e:sweep: removes namespaces of runs that ended without doing so, once they have expired; all of them with --all.

interface NamespaceList {
  readonly items: readonly {
    readonly metadata: {
      readonly name: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
  }[];
}

const isForAll = process.argv.includes('--all');
const listed = await must('kubectl', ['get', 'namespaces', '-l', 'polyad.io/e2e', '-o', 'json']);
for (const { metadata } of (JSON.parse(listed) as NamespaceList).items) {
  const expires = Date.parse(metadata.annotations?.['polyad.io/e2e-expires'] ?? '');
  if (!isForAll && expires > Date.now()) continue;
  await removeNamespaces([{ name: metadata.name, hasOperator: true }]);
  process.stdout.write(`${metadata.name} removed\n`);
}
