import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  crashEverywhere,
  failEachFlush,
  fillEverywhere,
  flipEverywhere,
} from './support/log-trials.ts';

// A share of `npm run raft:log`.

test('whatever subset of the unflushed writes a crash loses, what was acknowledged is found', () => {
  let crashes = 0;
  for (let seed = 1; seed <= 6; seed++) crashes += crashEverywhere(seed, 25);
  assert.ok(crashes > 500, `${crashes}`);
});

test('a changed byte of a log that was closed is seen, or nothing is missing', () => {
  for (let seed = 1; seed <= 2; seed++) assert.ok(flipEverywhere(seed, 20, 61) > 100);
});

test('a disk that is full at any byte leaves the log as it was promised', () => {
  let failures = 0;
  for (let seed = 1; seed <= 3; seed++) failures += fillEverywhere(seed, 20, 397);
  assert.ok(failures > 20, `${failures}`);
});

test('a flush that failed is final: what is found afterwards is on the disk', () => {
  let flushes = 0;
  for (let seed = 1; seed <= 6; seed++) flushes += failEachFlush(seed, 20);
  assert.ok(flushes > 60, `${flushes}`);
});
