import { createServer, type Server } from 'node:http';
import fastify from 'fastify';

// Servers that do nothing but answer: what HTTP itself costs. node bare-server.ts http|fastify

const answer = Buffer.from(
  '{"user":"root","result":[],"limit":20000,"returned":0,"truncated":false}',
);

async function listen(): Promise<Server> {
  if (process.argv[2] === 'fastify') {
    const app = fastify({ logger: false });
    app.post('/point', (_request, reply) => {
      reply.header('content-type', 'application/json').send(answer);
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    return app.server as Server;
  }
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      response.setHeader('content-type', 'application/json');
      response.setHeader('content-length', answer.length);
      response.end(answer);
    });
  });
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  return server;
}

const address = (await listen()).address();
process.stdout.write(`listening ${typeof address === 'object' && address ? address.port : 0}\n`);
process.on('SIGTERM', () => process.exit(0));
