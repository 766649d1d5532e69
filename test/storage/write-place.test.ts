import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WritePlace } from '#storage/commit-log/write-place.ts';

function at(place: WritePlace, clock: { ms: number }, isAlone: boolean, tookMs: number): boolean {
  const isInPlace = place.begin(isAlone);
  clock.ms += tookMs;
  if (isInPlace) place.end();
  return isInPlace;
}

function placeWithClock(): { place: WritePlace; clock: { ms: number } } {
  const clock = { ms: 1000 };
  return { clock, place: new WritePlace({ monotonicMs: () => clock.ms }) };
}

test('a writer that is alone for a while writes in place, but for probes', () => {
  const { place, clock } = placeWithClock();
  const places = Array.from({ length: 40 }, () => at(place, clock, true, 0.1));
  assert.equal(places.indexOf(true), 16);
  assert.equal(places.slice(16).filter((isInPlace) => !isInPlace).length, 3);
});

test('company ends it at once', () => {
  const { place, clock } = placeWithClock();
  for (let i = 0; i < 30; i++) at(place, clock, true, 0.1);
  assert.equal(at(place, clock, false, 0.1), false);
  assert.equal(at(place, clock, true, 0.1), false);
});

test('slow writes hold the main thread for one per cent of the time at most', () => {
  const { place, clock } = placeWithClock();
  const startMs = clock.ms;
  let heldMs = 0;
  for (let i = 0; i < 20_000; i++) if (at(place, clock, true, 20)) heldMs += 20;
  assert.ok(heldMs > 0);
  assert.ok(heldMs <= (clock.ms - startMs) * 0.01 + 20);
});
