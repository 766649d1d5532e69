import type { Route } from './route.ts';

// Probes (contract, GET /ready and GET /health). They read nothing, not even credentials.

const readyAnswers = {
  204: { description: 'The server is online' },
  503: { description: 'It is starting or stopping' },
};

export const readyGet: Route = {
  method: 'GET',
  path: '/ready',
  access: 'public',
  operation: {
    id: 'getReady',
    summary: 'Whether the server takes requests',
    answers: readyAnswers,
  },
  handle: (exchange, { control, cluster }) => {
    if (control.isReady && cluster?.readiness.isReady() !== false) exchange.noContent();
    else exchange.send(503, [], undefined);
  },
};

export const readyHead: Route = {
  method: 'HEAD',
  path: '/ready',
  access: 'public',
  handle: readyGet.handle,
};

export const healthGet: Route = {
  method: 'GET',
  path: '/health',
  access: 'public',
  operation: {
    id: 'getHealth',
    summary: 'Whether the process is up; never busy',
    answers: { 204: { description: 'The process is up' } },
  },
  handle: (exchange) => exchange.noContent(),
};

export const healthHead: Route = {
  method: 'HEAD',
  path: '/health',
  access: 'public',
  handle: healthGet.handle,
};
