import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareGround, readSettings } from '#plan/ground.ts';

test('a root path in which nothing can ever be made ends the start with one sentence', () => {
  const { settings } = readSettings(['-Dservice.server.rootPath=/proc/polyad-nowhere']);
  assert.throws(() => prepareGround(settings), {
    code: 'InvalidSetting',
    message: /^directory '\/proc\/polyad-nowhere\/config' cannot be made: ENOENT[^\n]*$/,
  });
});
