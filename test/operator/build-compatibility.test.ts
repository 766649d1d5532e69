import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bareBuild, parseBuild } from '../../operator/api/build.ts';
import type { Build } from '../../operator/api/build.ts';
import {
  featuresOnlyOf,
  returnProblem,
  upgradeProblem,
} from '../../operator/reconcile/build-compatibility.ts';

// Which build may go on with the data of another, as `polyad --version --json` tells of them.

function build(version: string, change: object = {}): Build {
  const text = JSON.stringify({
    version,
    formats: { storage: { reads: [1, 2], writes: 2 }, log: { reads: [1, 2], writes: 2 } },
    capabilities: ['sql', 'backup'],
    downgradeSafeTo: '26.10.1',
    ...change,
  });
  const parsed = parseBuild(text);
  assert.ok(parsed);
  return parsed;
}

const formats = (reads: readonly number[], writes: number) => ({
  formats: { storage: { reads, writes } },
});

test('a build goes on with what it reads', () => {
  const present = build('26.10.1');
  assert.equal(upgradeProblem(present, build('26.10.2')), undefined);
  assert.equal(upgradeProblem(present, build('26.10.1')), undefined);
  // It says that it reads everything: versions may be skipped.
  assert.equal(upgradeProblem(present, build('27.3.0')), undefined);
  const problem = upgradeProblem(present, build('26.11.0', formats([3, 3], 3))) ?? '';
  assert.match(problem, /26\.10\.1 writes storage format 2, version 26\.11\.0 reads 3 to 3/);
});

test('what is older than what is written now bars skipped versions only', () => {
  const present = build('26.10.1');
  const next = {
    formats: { storage: { reads: [2, 3], writes: 3 }, log: { reads: [1, 2], writes: 2 } },
  };
  assert.equal(upgradeProblem(present, build('26.11.4', next)), undefined);
  assert.match(upgradeProblem(present, build('26.12.0', next)) ?? '', /skips versions/);
  assert.match(upgradeProblem(present, build('27.1.0', next)) ?? '', /skips versions/);
});

test('without a word of formats the numbers count, and what has none is not compared', () => {
  assert.equal(upgradeProblem(bareBuild('26.10.1'), bareBuild('26.11.0')), undefined);
  assert.match(upgradeProblem(bareBuild('26.10.1'), bareBuild('26.12.0')) ?? '', /skips versions/);
  assert.equal(upgradeProblem(bareBuild('26.10.1'), bareBuild(undefined)), undefined);
  assert.equal(upgradeProblem(bareBuild('1'), bareBuild('2')), undefined);
  assert.equal(returnProblem(bareBuild('26.10.1'), bareBuild('v26.10.9')), undefined);
  assert.match(returnProblem(bareBuild('26.10.1'), bareBuild('26.11.0')) ?? '', /minor version/);
  assert.match(returnProblem(bareBuild('26.10.1'), bareBuild(undefined)) ?? '', /not known/);
});

test('an older version is taken as far as the present one says that it reads its data', () => {
  const present = build('26.12.0', { downgradeSafeTo: '26.11.0' });
  assert.equal(upgradeProblem(present, build('26.11.3')), undefined);
  assert.match(upgradeProblem(present, build('26.10.9')) ?? '', /from version 26\.11\.0 on/);
  assert.match(
    upgradeProblem(build('26.12.0', formats([1, 3], 3)), build('26.11.3')) ?? '',
    /writes storage format 3/,
  );
});

test('features of the log bar a build that lacks them, and a return once they may be on', () => {
  const [plain, featured] = [
    build('26.10.1'),
    build('26.11.0', { capabilities: ['sql', 'feature:wide-keys'] }),
  ];
  assert.match(upgradeProblem(featured, build('26.12.0')) ?? '', /lacks wide-keys/);
  assert.equal(upgradeProblem(plain, featured), undefined);
  assert.deepEqual(featuresOnlyOf(featured, plain), ['wide-keys']);
  assert.deepEqual(featuresOnlyOf(plain, featured), []);
});

test('a return needs a present build that reads what the next one writes', () => {
  const present = build('26.10.1');
  assert.equal(returnProblem(present, build('26.11.0')), undefined);
  assert.match(
    returnProblem(present, build('26.11.0', { downgradeSafeTo: '26.11.0' })) ?? '',
    /read from version 26\.11\.0 on/,
  );
  assert.match(
    returnProblem(present, build('26.11.0', formats([2, 3], 3))) ?? '',
    /writes storage format 3, version 26\.10\.1 reads 1 to 2/,
  );
});

test('a text that describes no build is none', () => {
  for (const text of [undefined, '', 'polyad 26.10.1', 'null', '3'])
    assert.equal(parseBuild(text), undefined, String(text));
  const odd = parseBuild('{"formats":{"storage":{"reads":1},"log":null},"capabilities":[1,null]}');
  assert.deepEqual(odd, bareBuild(undefined));
});
