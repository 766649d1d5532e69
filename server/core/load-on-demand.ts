import { createRequire } from 'node:module';

/**
 * A module that few servers need, loaded at its first use, synchronously. Each spares an idle server its source and its classes.
 * @param from `import.meta.url` of who asks
 * @param path as in an `import` of that file
 */
export function loadOnDemand<Module>(from: string, path: string): () => Module {
  let module: Module | undefined;
  return () => (module ??= createRequire(from)(path) as Module);
}
