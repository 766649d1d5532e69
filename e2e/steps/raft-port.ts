import type { Namespace } from './objects.ts';

/*
 * The port on which members talk with each other, dialled from inside a member's pod, as another member does and as a stranger
 * without a certificate does.
 */

const program = `
const { host, isMember } = JSON.parse(process.argv[1]);
const read = (name) => require('node:fs').readFileSync('/etc/polyad/tls/' + name);
const own = isMember ? { cert: read('tls.crt'), key: read('tls.key') } : {};
const end = (outcome) => { console.log(JSON.stringify(outcome)); process.exit(0); };
const socket = require('node:tls').connect({ host, port: 2434, servername: host, ca: read('ca.crt'), ALPNProtocols: ['h2'], ...own });
let serial = '';
socket.on('secureConnect', () => { serial = socket.getPeerCertificate().serialNumber; });
// A server that takes the connection speaks first.
socket.on('data', () => end({ serial, refused: '' }));
socket.on('error', (error) => end({ serial, refused: String(error.code ?? error.message) }));
socket.on('close', () => end({ serial, refused: 'closed' }));
setTimeout(() => end({ serial, refused: 'silent' }), 5000);`;

/** @returns the serial number of the certificate that the member shows, and why it took the connection no further */
export async function dialRaftPort(
  namespace: Namespace,
  { cluster, from, to, isMember }: Dial,
): Promise<{ readonly serial: string; readonly refused: string }> {
  const host = `${to}.${cluster}.${namespace.name}.svc.cluster.local`;
  const words = ['exec', from, '-c', 'server', '--', 'node', '-e', program];
  return JSON.parse(await namespace.kubectl([...words, JSON.stringify({ host, isMember })])) as {
    readonly serial: string;
    readonly refused: string;
  };
}

interface Dial {
  readonly cluster: string;
  readonly from: string;
  readonly to: string;
  readonly isMember: boolean;
}
