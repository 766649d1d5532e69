import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WritePlace } from '#storage/log/write-place.ts';

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
  const places = Array.from({ length: 80 }, () => at(place, clock, true, 0.1));
  assert.equal(places.indexOf(true), 16);
  assert.equal(places.slice(16).filter((isInPlace) => !isInPlace).length, 1);
});

test('company ends it at once', () => {
  const { place, clock } = placeWithClock();
  for (let i = 0; i < 30; i++) at(place, clock, true, 0.1);
  assert.equal(at(place, clock, false, 0.1), false);
  assert.equal(at(place, clock, true, 0.1), false);
});

test('a busy disk keeps writes out, but is forgotten when it is idle again', () => {
  const { place, clock } = placeWithClock();
  for (let i = 0; i < 30; i++) at(place, clock, true, 0.1);
  assert.equal(place.begin(true, true), false);
  assert.equal(at(place, clock, true, 0.1), true);
});

/** Share of the time that the main thread is held by writes of which every `every`th takes `slowMs`, the others 0.1 ms. */
function shareHeld(slowMs: number, every = 1): number {
  const { place, clock } = placeWithClock();
  const startMs = clock.ms;
  let heldMs = 0;
  for (let i = 0; i < 200_000; i++) {
    const tookMs = i % every === 0 ? slowMs : 0.1;
    if (at(place, clock, true, tookMs) && tookMs === slowMs) heldMs += tookMs;
  }
  assert.ok(heldMs > 0);
  return heldMs / (clock.ms - startMs);
}

test('the slower the writes, the less they hold the main thread', () => {
  assert.ok(shareHeld(2) <= 0.17);
  assert.ok(shareHeld(5) <= 0.14);
  assert.ok(shareHeld(20) <= 0.07);
  assert.ok(shareHeld(200) <= 0.011);
});

test('one long hiccup is forgiven', () => {
  const { place, clock } = placeWithClock();
  for (let i = 0; i < 30; i++) at(place, clock, true, 0.1);
  assert.equal(at(place, clock, true, 15), true);
  assert.equal(at(place, clock, true, 0.1), true);
});

test('a hiccup now and then leaves nearly all writes of a lone writer in place', () => {
  const { place, clock } = placeWithClock();
  let inPlace = 0;
  for (let i = 0; i < 10_000; i++)
    if (at(place, clock, true, i % 100 === 0 ? 1.5 : 0.1)) inPlace += 1;
  assert.ok(inPlace > 8500, `${inPlace} of 10,000`);
});
