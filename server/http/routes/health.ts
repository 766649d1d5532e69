import type { Resource } from './resource.ts';

// Probes (contract, GET /ready and GET /health). They read nothing, not even credentials.

const readyAnswers = {
  204: { description: 'The server is online' },
  503: { description: 'It is starting or stopping' },
};

export const health: Resource = (scope, { door: { control, cluster } }, done) => {
  const isReady = () => control.isReady && cluster?.readiness.isReady() !== false;

  // HEAD is for probes only, and documented with GET.
  for (const method of ['GET', 'HEAD'] as const) {
    const isDocumented = method === 'GET';
    scope.route({
      method,
      url: '/ready',
      config: { access: 'public' },
      schema: {
        ...(isDocumented && { operationId: 'getReady' }),
        summary: 'Whether the server takes requests',
        response: readyAnswers,
      },
      handler: (_request, reply) => void reply.code(isReady() ? 204 : 503).send(),
    });
    scope.route({
      method,
      url: '/health',
      config: { access: 'public' },
      schema: {
        ...(isDocumented && { operationId: 'getHealth' }),
        summary: 'Whether the process is up; never busy',
        response: { 204: { description: 'The process is up' } },
      },
      handler: (_request, reply) => void reply.code(204).send(),
    });
  }
  done();
};
