/*
 * The commands of the image besides the server: the operator, and those that run in pods of members. The latter load nothing
 * but Node, so what the operator needs is loaded only for it. `--fill-compile-cache` loads everything and does nothing: the
 * image is built with it.
 */

async function main(): Promise<number> {
  const [command, ...rest] = process.argv.slice(2);
  if (command === 'guard') {
    const { runGuard } = await import('./guard/guard.ts');
    return runGuard(process.env, (line) => process.stdout.write(line));
  }
  if (command === '--fill-compile-cache') {
    await Promise.all([import('./guard/guard.ts'), import('./run-operator.ts')]);
    return 0;
  }
  const { runOperator } = await import('./run-operator.ts');
  return runOperator({
    flags: command === undefined || command === 'operator' ? rest : [command, ...rest],
    environment: process.env,
    write: (line) => process.stdout.write(line),
    onStopSignal: (stop) => {
      process.once('SIGTERM', stop);
      process.once('SIGINT', stop);
    },
  });
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
