import { checkEnvironment } from './check.ts';

// node check-process.ts <directory>: prints the facts as one line of JSON, or the fault and ends with code 1.

/** Imported, by whoever fills the cache of compiled code, it does nothing. */
if (import.meta.main) {
  try {
    process.stdout.write(JSON.stringify(checkEnvironment(process.argv[2] ?? '')));
  } catch (error) {
    process.stdout.write(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
