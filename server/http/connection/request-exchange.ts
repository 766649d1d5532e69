import type { IncomingMessage } from 'node:http';
import type { Exchange } from '../answer/exchange.ts';

// The exchange that a request of node:http belongs to, wherever fastify hands the request over.

const exchangeKey = Symbol('exchange');
type ExchangedRequest = IncomingMessage & { [exchangeKey]?: Exchange };

export function setExchange(request: IncomingMessage, exchange: Exchange): void {
  (request as ExchangedRequest)[exchangeKey] = exchange;
}

export function exchangeOf(request: IncomingMessage): Exchange | undefined {
  return (request as ExchangedRequest)[exchangeKey];
}

/** Of a request that the server has begun. */
export function requireExchange(request: IncomingMessage): Exchange {
  const exchange = exchangeOf(request);
  if (exchange === undefined) throw new Error('a request that was not begun');
  return exchange;
}
