import assert from 'node:assert/strict';

export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly samples: ParsedSample[];
}

const sampleShape = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelShape = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/;
const numberShape = /^(?:[+-]Inf|NaN|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i;

/** Reads exposition text strictly. @throws AssertionError for what the format does not allow */
export function parseExposition(text: string, form: 'prometheus' | 'openmetrics'): ParsedFamily[] {
  assert(text.endsWith('\n'), 'the text ends with a newline');
  const lines = text.slice(0, -1).split('\n');
  if (form === 'openmetrics') assert.equal(lines.pop(), '# EOF');
  const families: ParsedFamily[] = [];
  const names = new Set<string>();
  const seen = new Set<string>();
  let helped = '';
  for (const line of lines) {
    assert.notEqual(line, '', 'no blank lines');
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      assert(!names.has(name), `${name} stands together`);
      names.add(name);
      helped = name;
    } else if (kind === 'TYPE') {
      assert.equal(name, helped, 'HELP and TYPE name the same family');
      assert.match(rest, /^(counter|gauge|histogram)$/);
      families.push({ name, type: rest, samples: [] });
    } else {
      const sample = parseSample(line);
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      assert(!seen.has(key), `${line} is unique`);
      seen.add(key);
      const family = families.at(-1);
      assert(family, line);
      assert(belongs(sample.name, family, form), `${sample.name} stands below ${family.name}`);
      family.samples.push(sample);
    }
  }
  for (const family of families) checkHistogram(family);
  return families;
}

function belongs(name: string, family: ParsedFamily, form: string): boolean {
  if (family.type === 'histogram')
    return ['_bucket', '_sum', '_count'].some((suffix) => name === family.name + suffix);
  if (family.type === 'counter' && form === 'openmetrics') return name === `${family.name}_total`;
  return name === family.name;
}

function parseSample(line: string): ParsedSample {
  const [, name, labelText = '', value = ''] = sampleShape.exec(line) ?? [];
  assert(name !== undefined, line);
  assert.match(value, numberShape, line);
  const labels: Record<string, string> = {};
  let rest = labelText;
  while (rest !== '') {
    const match = labelShape.exec(rest);
    assert(match, line);
    const [whole, label = '', text = ''] = match;
    assert(!(label in labels), `label ${label} stands once`);
    labels[label] = text.replace(/\\([\\"n])/g, (_, char) => (char === 'n' ? '\n' : char));
    rest = rest.slice(whole.length);
  }
  return { name, labels, value: Number(value.replace('+Inf', 'Infinity')) };
}

/** Buckets are cumulative and end with +Inf, which equals the count. */
function checkHistogram({ name, type, samples }: ParsedFamily): void {
  if (type !== 'histogram') return;
  const series = new Map<string, ParsedSample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const [key, all] of series) {
    const buckets = all.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number(labels['le']?.replace('+Inf', 'Infinity')));
    assert.deepEqual(
      bounds,
      [...bounds].sort((a, b) => a - b),
      key,
    );
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY, key);
    const counts = buckets.map(({ value }) => value);
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => a - b),
      key,
    );
    const count = all.find((sample) => sample.name === `${name}_count`);
    assert.equal(count?.value, counts.at(-1), key);
    assert(
      all.some((sample) => sample.name === `${name}_sum`),
      key,
    );
  }
}
