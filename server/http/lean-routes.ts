import { batchPost } from './routes/batch.ts';
import type { Route } from './routes/route.ts';
import { commandPost, queryGet, queryGetWithoutCommand, queryPost } from './routes/statements.ts';
import { begin, commit, rollback } from './routes/transactions.ts';

/**
 * The hot routes, which keep a leaner way than a plugin of fastify: one hook, bodies by callbacks, found by the path of the request
 * before (`request/known-paths.ts`). `DECISIONS.md` has the figure that earns it. All others are in `resources.ts`.
 */
export const leanRoutes: readonly Route[] = [
  queryGet,
  queryPost,
  commandPost,
  begin,
  commit,
  rollback,
  batchPost,
  queryGetWithoutCommand,
];
