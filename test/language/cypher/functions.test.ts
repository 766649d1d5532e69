// The functions of cypher.md 9: one golden file calls each of them, and none may be left out.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';
import { runGoldenFile } from '#test/support/datadriven.ts';

const file = new URL('functions.txt', import.meta.url);
let opened: Promise<TestDatabase> | undefined;
after(async () => (await opened)?.close());

runGoldenFile(file, async ({ command, input }) => {
  opened ??= openTestDatabase();
  const database = await opened;
  const answers: string[] = [];
  for (const line of input.split('\n'))
    answers.push(
      await database.print(line, {}, {}, command === 'sql' ? 'sql' : 'cypher').then(
        (text) => text || 'no rows',
        (error: Error) => `error: ${error.message}`,
      ),
    );
  return answers.join('\n');
});

const names = `
id elementId labels type keys properties startNode endNode nodes relationships length path_length size coalesce head last
tail range reverse isEmpty exists nullIf valueType randomUUID timestamp rand file linenumber char_length character_length
charLength toString toStringOrNull toUpper upper toLower lower trim lTrim rTrim btrim replace split substring left right
normalize isNormalized format abs sign ceil ceiling floor round sqrt exp log ln log10 sin cos tan cot asin acos atan atan2
degrees radians haversin pi e sinh cosh tanh coth isNaN toInteger toFloat toBoolean toIntegerOrNull toFloatOrNull
toBooleanOrNull toIntegerList toFloatList toBooleanList toStringList count sum avg min max collect collect_list stDev
stdev_samp stDevP stdev_pop percentileCont percentile_cont percentileDisc percentile_disc date time zoned_time localtime
local_time datetime zoned_datetime localdatetime local_datetime duration duration_between point point.distance
point.withinBBox vector vector.similarity.cosine vector.similarity.euclidean vector.distance vector.distance.euclidean
vector.distance.manhattan vector.distance.cosine vector.norm vector.dimension.count
`;
const spaces: Readonly<Record<string, string>> = {
  text: `byteCount camelCase upperCamelCase snakeCase capitalize capitalizeAll decapitalize decapitalizeAll charAt code format
    hammingDistance hexValue indexOf jaroWinklerDistance join levenshteinDistance levenshteinSimilarity lpad rpad random
    regexReplace replace slug sorensenDiceSimilarity split`,
  map: `clean flatten unflatten fromLists fromPairs groupBy merge mergeList removeKey removeKeys setKey sortedProperties submap
    values`,
  coll: 'avg sum min max sort distinct toSet flatten indexOf insert remove union unionAll pairsMin',
  agg: 'first last nth slice median percentiles product statistics maxItems minItems',
  convert:
    'toJson fromJsonMap fromJsonList toMap toList toSet toString toInteger toFloat toBoolean',
  create: 'uuid uuidBase64 vNode vRelationship',
  date: `currentTimestamp systemTimezone add convert field fields format parse toISO8601 fromISO8601`,
  math: 'maxLong minLong maxDouble round sigmoid sigmoidPrime sinh cosh tanh',
  number: 'format',
  node: 'id labels degree degree.in degree.out relationship.exists relationship.types',
  rel: 'id type startNode endNode',
  path: 'create combine elements slice',
  util: 'md5 sha1 sha256 sha512 compress decompress sleep validate',
};

test('the golden file calls every function that is promised', () => {
  const statements = readFileSync(file, 'utf8');
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');
  const all = [
    ...words(names),
    ...Object.entries(spaces).flatMap(([space, list]) =>
      words(list).map((name) => `${space}.${name}`),
    ),
  ];
  assert.ok(all.length > 200, String(all.length));
  const missing = all.filter(
    (name) => !new RegExp(`(?<![\\w.])${name.replaceAll('.', '\\.')}\\(`).test(statements),
  );
  assert.deepEqual(missing, []);
});
