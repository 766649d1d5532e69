import type { Exchange } from '../answer/exchange.ts';
import { replayKeyOf } from './cache.ts';

/**
 * Executes a request with an id of the client's choice once: a repetition of it by the same user gets the answer that the
 * first one got, or waits for it (http-api.md 4). Only JSON answers of status 2xx are kept; whoever waited for another one
 * executes the request.
 */
export async function onceOnly(
  exchange: Exchange,
  body: Uint8Array,
  execute: (replayKey: string) => Promise<void>,
): Promise<void> {
  const { replays } = exchange.door;
  const key = replayKeyOf({
    requestId: exchange.requestId,
    user: exchange.principal.name,
    method: exchange.request.method ?? '',
    url: exchange.request.url ?? '',
    body,
  });
  const kept = await replays.begin(key);
  if (kept) {
    replays.hits.add(exchange.parameters['database'] ?? '');
    exchange.json(kept.status, kept.body);
    return;
  }
  let isFinished = false;
  exchange.onAnswer = (status, answer) => {
    if (status < 200 || status > 299) return;
    isFinished = true;
    replays.finish(key, { status, body: answer });
  };
  try {
    await execute(key);
  } finally {
    if (!isFinished) replays.finish(key, undefined);
  }
}
