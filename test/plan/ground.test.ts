import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { prepareGround, readSettings } from '#plan/ground.ts';
import { quickStart } from '../support/server-process.ts';

test('a root path in which nothing can ever be made ends the start with one sentence', async () => {
  const { settings } = readSettings(['-Dservice.server.rootPath=/proc/polyad-nowhere']);
  await assert.rejects(prepareGround(settings), {
    code: 'InvalidSetting',
    message: /^directory '\/proc\/polyad-nowhere\/config' cannot be made: ENOENT[^\n]*$/,
  });
});

test('a wrong setting of the cluster ends the start with status 78, another one with 1', (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-start-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const script = resolve(import.meta.dirname, '../../server/main.ts');
  const statusOf = (...settings: string[]) => {
    const line = [script, `--service.server.rootPath=${directory}`, ...settings];
    const env = { ...process.env, ...quickStart };
    return spawnSync(process.execPath, line, { env, cwd: directory }).status;
  };
  assert.equal(statusOf('--service.ha.quorum=two'), 78);
  assert.equal(statusOf('--service.ha.qourum=all'), 78);
  assert.equal(statusOf('--service.server.mode=production'), 1);
  const list = [
    '--service.ha.enabled=true',
    '--service.server.name=zed',
    '--service.ha.serverList=a,b',
  ];
  assert.equal(statusOf('--service.server.rootPassword=playwithdata', ...list), 78, 'not in it');
});
