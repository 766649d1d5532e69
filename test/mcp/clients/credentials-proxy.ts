import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** Adds credentials to whatever comes, for clients that cannot; everything else goes through as it is. @returns its port */
export async function startCredentialsProxy(
  context: TestContext,
  to: { readonly port: number; readonly authorization: string },
): Promise<number> {
  const proxy = createServer((incoming, outgoing) => {
    const onward = request(
      {
        host: '127.0.0.1',
        port: to.port,
        method: incoming.method,
        path: incoming.url,
        headers: { ...incoming.headers, authorization: to.authorization },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
  context.after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return (proxy.address() as AddressInfo).port;
}
