import { EnvironmentLoader } from './environment-loader.ts';
import { PartCollector, type PartManifest } from './part-format.ts';

// node load-process.ts DIRECTORY BYTES: makes an environment from the parts of its input, of so many bytes at most each, and prints their
// manifest as one line of JSON, or what is wrong with them and ends with code 1.

/** Imported, by whoever fills the cache of compiled code, it does nothing. */
if (import.meta.main) await load();

async function load(): Promise<void> {
  try {
    const [directory = '', bytesMax = ''] = process.argv.slice(2);
    const loader = new EnvironmentLoader(directory);
    const collector = new PartCollector(Number(bytesMax));
    let manifest: PartManifest | undefined;
    for await (const piece of process.stdin as AsyncIterable<Buffer>)
      for (const part of collector.take(piece)) {
        if (manifest !== undefined) throw new Error('something follows its manifest');
        manifest = loader.take(part);
      }
    if (manifest === undefined) throw new Error('it ends before its manifest');
    await loader.close();
    process.stdout.write(JSON.stringify(manifest));
  } catch (error) {
    process.stdout.write(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
