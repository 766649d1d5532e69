import { toEnd } from '#core/pausing-work.ts';

/**
 * Loads what a server loads only when it is told to. For the process that fills the code cache: one source outside the cache
 * makes a server load the compiler that strips its types, which costs 25 MB for as long as it runs.
 */
export async function loadOptionalParts(): Promise<void> {
  await Promise.allSettled([
    import('#mcp/http-routes.ts'),
    import('#mcp/policy/configuration-file.ts'),
    import('#mcp/stdio.ts'),
    import('#database/importers/csv.ts'),
    import('#database/importers/json.ts'),
    import('#database/importers/mapped-json.ts'),
    import('#database/importers/jsonl.ts'),
    import('#database/importers/graphml.ts'),
    import('#database/importers/graphson.ts'),
    import('#database/importers/orientdb.ts'),
    import('#language/cypher/frontend.ts'),
    import('#language/redis/frontend.ts'),
    import('#resp/server.ts'),
    import('#security/tls-credentials.ts'),
    import('#platform/tls-store.ts'),
    import('#platform/prompt.ts'),
    import('#backup/config-file.ts'),
    import('./cluster.ts'),
    import('#cluster/consensus-worker.ts'),
    import('#cluster/log-worker.ts'),
    import('#index/vector/graph-worker.ts'),
    import('./reader-thread.ts'),
    import('#storage/environment/check-process.ts'),
    import('#storage/parts/load-process.ts'),
    import('#storage/parts/send-process.ts'),
    import('#core/text/regular-expression.ts').then(({ prepareEngine }) => toEnd(prepareEngine())),
  ]);
}
