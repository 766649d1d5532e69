import { prometheusRequireAuthentication } from '#config/server-settings.ts';
import { type ExpositionForm, expositionText, expositionTypes } from '#control/prometheus-text.ts';
import type { Door } from '../door.ts';
import type { Exchange } from '../answer/exchange.ts';
import { requireUser } from '../request/authenticate.ts';
import type { Resource } from './resource.ts';

// Plugin `prometheus` (wire-protocols.md 4): both paths that scrapers are configured with.

async function scrape(exchange: Exchange, door: Door): Promise<void> {
  const { settings, authorizer, telemetry } = door;
  const isOpen = !settings.get(prometheusRequireAuthentication);
  if (!isOpen) await requireUser(exchange);
  const { principal } = exchange;
  // Names of databases are for those who may know them.
  const canSee = (database: string) =>
    isOpen || principal.isRoot || authorizer.canAccess(principal, database);
  const form = formOf(exchange.header('accept'));
  const text = expositionText(telemetry?.families({ canSee }) ?? [], form);
  exchange.send(
    200,
    ['Content-Type', expositionTypes[form], 'Cache-Control', 'no-store'],
    Buffer.from(text),
  );
}

function formOf(accept: string | undefined): ExpositionForm {
  return accept?.includes('application/openmetrics-text') ? 'openmetrics' : 'prometheus';
}

export const prometheus: Resource = (scope, { door }, done) => {
  for (const path of ['/metrics', '/prometheus'])
    scope.get(path, { config: { access: 'public' } }, async ({ exchange }, reply) => {
      await scrape(exchange, door);
      return reply.hijack();
    });
  done();
};
