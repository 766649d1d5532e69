import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterView, DeclaredPeer } from '#cluster/cluster-view.ts';
import { type OwnPorts, PeerAddresses } from '#cluster/forwarding/peer-addresses.ts';
import { parseServerList } from '#cluster/server-list.ts';
import { silentLog } from '#core/log.ts';

// Where other servers are taken to be reached (contract 3, Other constants and Authentication 4; ha.md 4.8).

function addressesOf(list: string, own: OwnPorts, self = 0) {
  const options = { raftPort: 2434, serverName: `Service_${self}`, k8sSuffix: '', isK8s: false };
  const { peers } = parseServerList(list, options);
  const told: string[] = [];
  let declared: readonly DeclaredPeer[] = peers;
  const view = {
    get declared() {
      return declared;
    },
    consensus: {
      self: peers[self]?.id,
      status: () => ({ configuration: { voters: [], learners: [] } }),
    },
  } as unknown as ClusterView;
  const addresses = new PeerAddresses(view, {
    ownPorts: () => own,
    log: { ...silentLog, warn: (text) => void told.push(text) },
  });
  const change = (peer: (one: DeclaredPeer) => DeclaredPeer) => {
    declared = declared.map(peer);
  };
  return { addresses, told, change };
}

const plain = { http: 2480, https: undefined };

test('ports that nobody declares are those of this server', () => {
  const { addresses, told } = addressesOf('a:2434,b:2434,c:2434:9000', plain);
  assert.deepEqual(
    [...addresses.addresses('http')],
    [
      ['a_2434', 'a:2480'],
      ['b_2434', 'b:2480'],
      ['c_2434', 'c:9000'],
    ],
  );
  const dial = addresses.dial('b_2434');
  assert.deepEqual(dial, {
    kind: 'address',
    peer: 'b_2434',
    host: 'b',
    port: 2480,
    isSecure: false,
  });
  assert.deepEqual(
    [...addresses.addresses('bolt')],
    [],
    'of a door that is not here nothing is known',
  );
  assert.deepEqual(told, []);
});

test('an address that two would have is told once for each protocol, again when others collide, and dialled by nobody', () => {
  const { addresses, told, change } = addressesOf('h:7000,h:7001,h:7002', {
    http: 2480,
    https: 2490,
  });
  for (let look = 0; look < 3; look += 1) {
    assert.equal(addresses.addresses('http').size, 0);
    assert.equal(addresses.addresses('https').size, 0);
  }
  assert.equal(told.length, 2, told.join('\n'));
  assert.match(told[0] ?? '', /^http addresses .* h:2480 of h_7000, h_7001, h_7002; declare http/);
  assert.match(told[1] ?? '', /^https addresses/);
  const dial = addresses.dial('h_7001');
  assert.match(
    dial.kind === 'refused' ? dial.reason : '',
    /shared with h_7000, h_7002: declare http in service\.ha\.serverList/,
  );
  change((peer) => (peer.id === 'h_7002' ? { ...peer, http: 9002 } : peer));
  assert.equal(addresses.addresses('http').get('h_7002'), 'h:9002');
  assert.equal(
    told.filter((text) => text.startsWith('http addresses')).length,
    2,
    'two of three still do',
  );
});

test('the look at what a build understands, and it alone, takes the distance between the ports', () => {
  const { addresses } = addressesOf('h:7000,h:7001,h:7002', { http: 8000, https: undefined });
  const dial = addresses.dialForCapabilities('h_7002');
  assert.deepEqual(dial, {
    kind: 'address',
    peer: 'h_7002',
    host: 'h',
    port: 8002,
    isSecure: false,
  });
  assert.equal(addresses.dial('h_7002').kind, 'refused');
  assert.equal(addresses.dialForCapabilities('h_7000').kind, 'refused', 'this server');
  assert.equal(addresses.dialForCapabilities('x_1').kind, 'refused');
});

test('with TLS servers are asked over HTTPS; where no port is known over HTTP, which is told once', () => {
  const derived = addressesOf('a:2434,b:2434', { http: 2480, https: 2490 });
  assert.deepEqual(derived.addresses.dial('b_2434'), {
    kind: 'address',
    peer: 'b_2434',
    host: 'b',
    port: 2490,
    isSecure: true,
  });
  assert.deepEqual(derived.told, []);
  const shared = addressesOf('h:7000:8000,h:7001:8001,h:7002:8002', { http: 8000, https: 2490 });
  for (const [id, port] of [
    ['h_7001', 8001],
    ['h_7002', 8002],
  ] as const) {
    const dial = shared.addresses.dial(id);
    assert.deepEqual(dial, { kind: 'address', peer: id, host: 'h', port, isSecure: false });
  }
  assert.equal(shared.told.filter((text) => /over plain HTTP/.test(text)).length, 1);
  const declared = addressesOf('a:{raft:2434,https:9443},b:{raft:2434,https:9444}', {
    http: 2480,
    https: 2490,
  });
  const dial = declared.addresses.dial('b_2434');
  assert.deepEqual(dial.kind === 'address' && [dial.port, dial.isSecure], [9444, true]);
});
