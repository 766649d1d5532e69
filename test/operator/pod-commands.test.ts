import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, after } from 'node:test';
import { installFiles } from '../../operator/pod/install-files.ts';
import { beginGroup } from '../../operator/pod/begin-group.ts';
import { makeSecrets, parseWanted } from '../../operator/pod/make-secrets.ts';
import { runPrestop } from '../../operator/pod/prestop.ts';
import { runTestRelease } from '../../operator/pod/test-release.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'polyad-pod-'));
  folders.push(path);
  return path;
}

async function withServer(
  answer: (request: IncomingMessage, body: string) => readonly [number, string],
  run: (url: string, port: number) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const [status, text] = answer(request, body);
      response.writeHead(status).end(status === 204 ? undefined : text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await run(`http://127.0.0.1:${port}`, port);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe('files of a pod', () => {
  const setUp = (files: Readonly<Record<string, string>>) => {
    const [volume, managedFiles] = [folder(), folder()];
    for (const [name, text] of Object.entries(files)) writeFileSync(join(managedFiles, name), text);
    return { volume, managedFiles, directories: ['databases', 'config'] };
  };
  const config = (volume: string, name: string) =>
    readFileSync(join(volume, 'config', name), 'utf8');

  it('are replaced at each start, and removed when they are taken back', async () => {
    const inputs = setUp({ 'service.json': '{"a":1}', 'backup.json': '{}' });
    await installFiles(inputs);
    const settings = () => JSON.parse(config(inputs.volume, 'service.json'));
    const lockTimeout = 'service.server.directoryLockTimeout';
    assert.deepEqual(settings(), { [lockTimeout]: '30000', a: 1 });
    writeFileSync(join(inputs.managedFiles, 'service.json'), `{"${lockTimeout}":"0"}`);
    rmSync(join(inputs.managedFiles, 'backup.json'));
    await installFiles(inputs);
    assert.deepEqual(settings(), { [lockTimeout]: '0' });
    assert.equal(existsSync(join(inputs.volume, 'config', 'backup.json')), false);
  });

  it('leave alone what belongs to the server', async () => {
    const inputs = setUp({ 'mcp-config.json': '{"enabled":true}' });
    mkdirSync(join(inputs.volume, 'config'));
    writeFileSync(join(inputs.volume, 'config', 'users.json'), 'users');
    await installFiles(inputs);
    writeFileSync(join(inputs.volume, 'config', 'mcp-config.json'), 'changed by the server');
    await installFiles(inputs);
    assert.equal(config(inputs.volume, 'mcp-config.json'), 'changed by the server');
    assert.equal(config(inputs.volume, 'users.json'), 'users');
  });
});

describe('make-secrets', () => {
  it('makes what is missing and leaves alone what is there', async () => {
    const made: { metadata: { name: string }; data: Record<string, string> }[] = [];
    const api = {
      create: async (_: string, secret: object) => {
        const given = secret as (typeof made)[number];
        if (given.metadata.name === 'old') return { status: 409, body: '' };
        made.push(given);
        return { status: 201, body: '' };
      },
      releaseOf: async () => 'orders',
    };
    const wanted = ['new:rootPassword:32', 'old:token:43'].map(parseWanted);
    const lines = await makeSecrets(api, 'shop', 'orders', wanted);
    assert.deepEqual(lines, ['Secret new made', 'Secret old is there']);
    const text = Buffer.from(made[0]?.data['rootPassword'] ?? '', 'base64').toString();
    assert.match(text, /^[A-Za-z0-9]{32}$/);
    assert.equal(lines.join().includes(text), false);
  });

  it('says what the API server refused', async () => {
    const api = {
      create: async () => ({ status: 403, body: 'forbidden' }),
      releaseOf: async () => undefined,
    };
    await assert.rejects(
      makeSecrets(api, 'shop', 'orders', [parseWanted('a:b:32')]),
      /Secret a: the API server answered 403: forbidden/,
    );
    assert.throws(() => parseWanted('a:b'), /must be name:key:length/);
  });

  it('does not take the password of another release', async () => {
    const api = {
      create: async () => ({ status: 409, body: '' }),
      releaseOf: async () => 'bills',
    };
    await assert.rejects(
      makeSecrets(api, 'shop', 'orders', [
        parseWanted('service-credentials-secret:rootPassword:32'),
      ]),
      /belongs to the release bills: set .*generatedName/,
    );
  });
});

describe('begin-group', () => {
  const setOf = (...args: readonly string[]) =>
    JSON.stringify({
      metadata: { uid: 'set-1' },
      spec: { template: { spec: { containers: [{ args }] } } },
    });

  it('ends one server, and waits until it is gone', async () => {
    const asked: string[] = [];
    let left = 3;
    const api = {
      get: async () =>
        left-- > 0
          ? { status: 200, body: setOf('-Dservice.server.name=a') }
          : { status: 404, body: '' },
      delete: async (uid: string) => {
        asked.push(uid);
        return { status: 200, body: '' };
      },
    };
    assert.match(await beginGroup(api, async () => {}), /has ended/);
    assert.deepEqual(asked, ['set-1']);
  });

  it('leaves a group, and what is not there, alone', async () => {
    const never = async () => {
      throw new Error('not to be deleted');
    };
    const group = { status: 200, body: setOf('-Dservice.ha.enabled=true') };
    for (const answer of [group, { status: 404, body: '' }])
      assert.match(await beginGroup({ get: async () => answer, delete: never }), /nothing to do/);
  });

  it('fails when it may not, or when the server does not end', async () => {
    const one = { status: 200, body: setOf() };
    const refused = { get: async () => one, delete: async () => ({ status: 403, body: 'no' }) };
    await assert.rejects(
      beginGroup(refused, async () => {}),
      /403: no/,
    );
    const stuck = { get: async () => one, delete: async () => ({ status: 200, body: '' }) };
    await assert.rejects(
      beginGroup(stuck, async () => {}),
      /has not ended in time/,
    );
  });
});

describe('prestop', () => {
  it('asks the member to leave or to hand over, and never fails', async () => {
    const file = join(folder(), 'password');
    writeFileSync(file, 'secret-of-root\n');
    const asked: string[] = [];
    const lines: string[] = [];
    await withServer(
      (request) => {
        asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
        return [409, '{"error":"quorum"}'];
      },
      async (_, port) => {
        for (const mode of ['leave', 'handover']) {
          const words = [`--mode=${mode}`, `--port=${port}`, `--password-file=${file}`];
          assert.equal(await runPrestop(words, {}, (line) => lines.push(line)), 0);
        }
      },
    );
    const basic = `Basic ${Buffer.from('root:secret-of-root').toString('base64')}`;
    assert.deepEqual(asked, [
      `POST /api/v1/cluster/leave ${basic}`,
      `POST /api/v1/cluster/prepare-stop ${basic}`,
    ]);
    assert.equal(lines[0], 'prestop leave: 409 {"error":"quorum"}\n');
    assert.equal(lines.join().includes('secret-of-root'), false);
    assert.equal(await runPrestop(['--port=1'], {}, (line) => lines.push(line)), 0);
    assert.equal(await runPrestop(['--mode=other'], {}, (line) => lines.push(line)), 0);
    assert.match(lines.at(-1) ?? '', /--mode 'other': use leave or handover/);
  });
});

describe('prestop of a Cluster that hibernates', () => {
  it('leaves the lead where it is, and only then', async () => {
    const members = folder();
    const say = async (record: string | undefined, mode = 'handover') => {
      if (record !== undefined) writeFileSync(join(members, 'members.json'), record);
      let said = '';
      await withServer(
        (request, body) => {
          said = `${request.url} ${body}`;
          return [200, '{}'];
        },
        async (_, port) => {
          const words = [`--mode=${mode}`, `--port=${port}`];
          await runPrestop(words, { POLYAD_GUARD_MEMBERS: members }, () => {});
        },
      );
      return said;
    };
    const path = '/api/v1/cluster/prepare-stop';
    assert.equal(await say(undefined), `${path} {}`);
    assert.equal(await say('{"hibernating":true}'), `${path} {"handOver":false}`);
    assert.equal(await say('{"hibernating":true}', 'leave'), '/api/v1/cluster/leave {}');
    assert.equal(await say('{"initialised":true}'), `${path} {}`);
    assert.equal(await say('{'), `${path} {}`);
  });
});

describe('test-release', () => {
  const runAgainst = async (rows: string) => {
    const commands: string[] = [];
    const lines: string[] = [];
    let code = -1;
    await withServer(
      (request, body) => {
        if (request.method === 'GET') return [204, ''];
        const { command } = JSON.parse(body) as { command: string };
        commands.push(command.replace(/helm_test_[0-9a-f]+/, 'scratch'));
        return [200, command.startsWith('SELECT') ? `{"result":${rows}}` : '{"result":"ok"}'];
      },
      async (url) => {
        code = await runTestRelease([`--url=${url}`], { ROOT_PASSWORD: 'hidden' }, (line) =>
          lines.push(line),
        );
      },
    );
    return { code, commands, lines };
  };

  it('writes, reads and cleans up, one JSON line per check', async () => {
    const { code, commands, lines } = await runAgainst('[{"number":42}]');
    assert.equal(code, 0);
    assert.deepEqual(commands, [
      'list databases',
      'create database scratch',
      'CREATE DOCUMENT TYPE Probe',
      'INSERT INTO Probe SET number = 42',
      'SELECT number FROM Probe',
      'drop database scratch',
    ]);
    const checks = lines.map((line) => JSON.parse(line) as { check: string; passed: boolean });
    assert.deepEqual(
      checks.map(({ check, passed }) => [check, passed]),
      ['health', 'ready', 'login', 'write and read'].map((check) => [check, true]),
    );
  });

  it('fails and still cleans up when what was written is not there', async () => {
    const { code, commands } = await runAgainst('[]');
    assert.equal(code, 1);
    assert.equal(commands.at(-1), 'drop database scratch');
  });
});
