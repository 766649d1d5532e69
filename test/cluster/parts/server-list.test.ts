import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseServerList, type ServerListOptions } from '#cluster/server-list.ts';

// service.ha.serverList (contract 3, Peer entry; ha.md 4.8).

const options: ServerListOptions = {
  raftPort: 2434,
  serverName: 'Service_0',
  k8sSuffix: '',
  isK8s: false,
};
const parse = (text: string, more: Partial<ServerListOptions> = {}) =>
  parseServerList(text, { ...options, ...more });

test('every prefix of the positional form', () => {
  const { peers } = parse('a,b:1,c:1:2,d:1:2:3,e:1:2:-3:4');
  assert.deepEqual(
    peers.map(({ id, raftPort, http, priority, https }) => [id, raftPort, http, priority, https]),
    [
      ['a_2434', 2434, undefined, 0, undefined],
      ['b_1', 1, undefined, 0, undefined],
      ['c_1', 1, 2, 0, undefined],
      ['d_1', 1, 2, 3, undefined],
      ['e_1', 1, 2, -3, 4],
    ],
  );
});

test('the object form, in any order, mixed with the other one', () => {
  const { peers } = parse(
    ' x@a:{http:2, raft:1 ,grpc:5,bolt:4,priority:7,https:3} , b:{} ,[::2]:9',
  );
  assert.deepEqual(peers[0], {
    id: 'a_1',
    name: 'x',
    host: 'a',
    raftPort: 1,
    http: 2,
    https: 3,
    bolt: 4,
    grpc: 5,
    priority: 7,
  });
  assert.deepEqual(
    peers.map(({ id }) => id),
    ['a_1', 'b_2434', '[::2]_9'],
  );
});

test('both forms are equivalent when they give the same values', () => {
  const port = fc.integer({ min: 1, max: 65_535 });
  fc.assert(
    fc.property(
      port,
      port,
      fc.integer({ min: -99, max: 99 }),
      port,
      (raft, http, priority, https) => {
        const positional = parse(`n@h:${raft}:${http}:${priority}:${https}`, { serverName: 'n' });
        const fields = [`https:${https}`, `priority:${priority}`, `raft:${raft}`, `http:${http}`];
        assert.deepEqual(parse(`n@h:{${fields.join(',')}}`, { serverName: 'n' }), positional);
      },
    ),
  );
});

test('a server finds itself by name, by host, by number', () => {
  const list = 'a:1,Service_0@b:1,c:1';
  assert.equal(parse(list).self.host, 'b', 'an explicit name comes first');
  assert.equal(parse(list, { serverName: 'c' }).self.host, 'c');
  assert.equal(parse(list, { serverName: 'pod-2' }).self.host, 'c');
  assert.equal(parse(list, { serverName: 'pod_0' }).self.host, 'a');
  assert.deepEqual(
    parse(list).peers.map(({ name }) => name),
    ['a_1', 'Service_0', 'Service_2'],
  );
  assert.throws(() => parse(list, { serverName: 'x' }), /'x'.*_0, _1, _2/);
  assert.throws(() => parse(list, { serverName: 'x_3' }), /_0, _1, _2/);
  assert.deepEqual(parse('').self.id, 'localhost_2434', 'without a list it is a cluster by itself');
});

test('on Kubernetes host names get their suffix, and a server beyond the list its own entry', () => {
  const k8s = { k8sSuffix: '.db.ns.svc.cluster.local', isK8s: true };
  const { peers, self } = parse('db-0:1,db-1.db.ns.svc.cluster.local:1', {
    ...k8s,
    serverName: 'db-1',
  });
  assert.deepEqual(
    peers.map(({ host }) => host),
    ['db-0.db.ns.svc.cluster.local', 'db-1.db.ns.svc.cluster.local'],
  );
  assert.equal(self, peers[1]);
  const beyond = parse('db-0,db-1', { ...k8s, serverName: 'db-5' });
  assert.equal(beyond.self.id, 'db-5.db.ns.svc.cluster.local_2434');
  assert.equal(beyond.peers.length, 3);
  assert.equal(parse('10.0.0.1,10.0.0.2', k8s).self.host, '10.0.0.1');
});

test('lists that cannot be are refused by the entry and the reason', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['a:{raft:1,b:2', /braces/],
    ['a:raft:1},b', /braces/],
    ['a:{{raft:1}}', /braces/],
    ['x@y@a', /more than one @/],
    ['@a', /name before @ is empty/],
    ['x@a,x@b', /'x' stands twice/],
    ['a:1,a:1', /stands twice/],
    ['a:{raft:1,raft:2}', /'raft' stands twice/],
    ['a:{rafd:1}', /'rafd' is none of raft, http/],
    ['a:{raft}', /whole number for raft/],
    ['a:{raft:1:2}', /more than one value/],
    ['a:{raft:1}x', /closing brace/],
    ['a:1:2:3:4:5', /more than host:raftPort/],
    ['a:x', /'x' is no whole number/],
    ['a:1.5', /no whole number/],
    ['a:1:2:high', /no whole number for priority/],
    ['a:0', /no port for raft/],
    ['a:65536', /no port/],
    ['a:1:-2', /no port for http/],
    ['a:', /nothing follows/],
    ['a::2', /no whole number/],
    [',', /entry 1 is empty/],
    ['a,,b', /entry 2 is empty/],
    ['a,', /entry 2 is empty/],
    ['::1', /host/],
    ['[x]:1', /IPv6/],
    ['localhost:1,b:1', /loopback/],
    ['127.0.0.1:1,10.0.0.1:1', /loopback/],
    ['a b:1', /host/],
  ];
  for (const [text, reason] of cases) {
    assert.throws(() => parse(text), reason, text);
    assert.throws(() => parse(text), /service\.ha\.serverList/, text);
  }
});
