import type { Namespace } from './objects.ts';

const program = `
const net = require('node:net'), fs = require('node:fs');
const { host, port, requests } = JSON.parse(fs.readFileSync(0, 'utf8'));
const secret = fs.readFileSync(process.env.SERVICE_SERVER_ROOT_PASSWORD_PATH, 'utf8').trim();
const all = [['AUTH', 'root', secret], ...requests];
const bytes = all.map((words) => '*' + words.length + '\\r\\n' +
  words.map((word) => '$' + Buffer.byteLength(word) + '\\r\\n' + word + '\\r\\n').join('')).join('');
const socket = net.connect(port, host, () => socket.write(bytes));
let text = '';
socket.setTimeout(10000, () => socket.destroy(new Error('no reply within 10 s: ' + text)));
socket.on('error', (error) => { console.error(error.message); process.exit(1); });
socket.on('data', (chunk) => {
  text += chunk;
  const replies = text.split('\\r\\n').slice(0, -1);
  if (replies.length < all.length) return;
  console.log(JSON.stringify(replies));
  process.exit(0);
});`;

/**
 * Sends requests whose replies are one line each, as root, from inside a pod.
 * @returns the replies, that of AUTH left out
 */
export async function wire(
  namespace: Namespace,
  pod: string,
  at: { readonly host: string; readonly port: number },
  requests: readonly (readonly string[])[],
): Promise<readonly string[]> {
  const output = await namespace.kubectl(
    ['exec', '-i', pod, '-c', 'server', '--', 'node', '--no-warnings', '-e', program],
    JSON.stringify({ ...at, requests }),
  );
  const [login = '', ...replies] = JSON.parse(output) as readonly string[];
  if (login !== '+OK') throw new Error(`AUTH: ${login}`);
  return replies;
}
