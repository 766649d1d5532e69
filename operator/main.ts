/*
 * The commands of the image besides the server: the operator, and those that run in pods of members. The latter load nothing
 * but Node, so what the operator needs is loaded only for it. `--fill-compile-cache` loads everything and does nothing: the
 * image is built with it.
 */

type Run = (words: readonly string[]) => Promise<number>;

const write = (line: string): void => void process.stdout.write(line);

/** Of commands that need the time. */
async function surroundings() {
  const { systemRuntime } = await import('./kubernetes/system-runtime.ts');
  return { now: () => systemRuntime.clock.now(), write };
}

const commands: Readonly<Record<string, Run>> = {
  operator: async (flags) => {
    const { runOperator } = await import('./run-operator.ts');
    return runOperator({
      flags,
      environment: process.env,
      write,
      onStopSignal: (stop) => {
        process.once('SIGTERM', stop);
        process.once('SIGINT', stop);
      },
    });
  },
  cluster: async (words) => (await import('./plugin/run-plugin.ts')).runPlugin(words),
  guard: async () => (await import('./guard/guard.ts')).runGuard(process.env, write),
  'install-config': async () =>
    (await import('./pod/install-files.ts')).runInstallConfig(process.env, write),
  prestop: async (words) =>
    (await import('./pod/prestop.ts')).runPrestop(words, process.env, write),
  'make-secrets': async (words) =>
    (await import('./pod/make-secrets.ts')).runMakeSecrets(words, process.env, write),
  'begin-group': async (words) =>
    (await import('./pod/begin-group.ts')).runBeginGroup(words, process.env, write),
  'backup-stream': async (words) =>
    (await import('./pod/stream/stream-commands.ts')).runBackupStream(words, await surroundings()),
  'fetch-archive': async (words) =>
    (await import('./pod/stream/stream-commands.ts')).runFetchArchive(words, await surroundings()),
  'delete-archives': async (words) =>
    (await import('./pod/stream/stream-commands.ts')).runDeleteArchives(
      words,
      await surroundings(),
    ),
  'test-release': async (words) =>
    (await import('./pod/test-release.ts')).runTestRelease(words, process.env, write),
  '--fill-compile-cache': async () => {
    await Promise.all([
      import('./run-operator.ts'),
      import('./guard/guard.ts'),
      import('./pod/prestop.ts'),
      import('./pod/begin-group.ts'),
      import('./pod/make-secrets.ts'),
      import('./pod/stream/stream-commands.ts'),
      import('./pod/test-release.ts'),
    ]);
    return 0;
  },
};

async function main(): Promise<number> {
  const words = process.argv.slice(2);
  const [command = 'operator', ...rest] = words;
  const run = commands[command];
  if (run !== undefined) return run(rest);
  if (command.startsWith('--')) return commands['operator']?.(words) ?? 1;
  throw new Error(`unknown command '${command}'; known: ${Object.keys(commands).join(', ')}`);
}

// Everything follows from the world, so starting again is always safe; going on after an unknown failure is not.
process.on('unhandledRejection', (error) => {
  console.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(1);
});

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
