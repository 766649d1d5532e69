import { connect } from 'node:net';

/*
 * A process of its own, since whoever makes bodies of a hundred megabytes cannot look at a clock meanwhile: asks for `/health` every
 * few milliseconds, and tells at each line on its input how long the answers took since the line before.
 */

const everyMs = 5;
const request = 'GET /api/v1/health HTTP/1.1\r\nhost: x\r\n\r\n';
const socket = connect(Number(process.argv[2]), '127.0.0.1');
socket.setNoDelay(true);
let answered: () => void = () => {};
let received = '';
socket.on('data', (chunk) => {
  received += chunk.toString('latin1');
  if (!received.includes('\r\n\r\n')) return;
  received = '';
  answered();
});
socket.on('error', () => process.exit(0));
socket.on('close', () => process.exit(0));
let tookMs: number[] = [];
process.on('message', () => {
  process.send?.(tookMs);
  tookMs = [];
});
process.on('disconnect', () => process.exit(0));
for (;;) {
  const start = performance.now();
  const answer = new Promise<void>((resolve) => {
    answered = resolve;
  });
  socket.write(request);
  await answer;
  tookMs.push(performance.now() - start);
  await new Promise((done) => setTimeout(done, everyMs));
}
