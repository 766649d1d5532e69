import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takesShortcut } from '#platform/shortcuts.ts';

const around = { v8: '13.6.233.17-node.53', lmdb: '3.5.6', without: '' };

test('a shortcut is taken with the version that it leans on, and left by itself with another', () => {
  assert.equal(takesShortcut('code-optimization', around), true);
  assert.equal(takesShortcut('code-optimization', { ...around, v8: '14.1.2' }), false);
  assert.equal(takesShortcut('write-instructions', around), true);
  assert.equal(takesShortcut('write-instructions', { ...around, lmdb: '3.5.7' }), false);
  assert.equal(takesShortcut('write-instructions', { ...around, lmdb: '' }), false);
  assert.equal(takesShortcut('known-paths', { ...around, v8: '', lmdb: '' }), true);
});

test('each can be switched off by its name', () => {
  const without = 'known-paths,line-templates';
  assert.equal(takesShortcut('known-paths', { ...around, without }), false);
  assert.equal(takesShortcut('line-templates', { ...around, without }), false);
  assert.equal(takesShortcut('tick-shape', { ...around, without }), true);
});

test('the packages that are installed are those that the shortcuts were written for', () => {
  assert.equal(takesShortcut('write-instructions', undefined), true);
  assert.equal(takesShortcut('code-optimization', undefined), true);
});
