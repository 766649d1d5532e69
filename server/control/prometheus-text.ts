import type { HistogramSample, Labels, MetricFamily, Sample } from './telemetry.ts';

/** The text forms that scrapers ask for. */
export type ExpositionForm = 'prometheus' | 'openmetrics';

export const expositionTypes: Readonly<Record<ExpositionForm, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

const prefix = 'polyad_';

/**
 * Families as text (Prometheus exposition format 0.0.4, OpenMetrics 1.0.0; house decision 41 names the prefix). Pure. Samples
 * of one name stand together, after `# HELP` and `# TYPE`; the text ends with a newline.
 */
export function expositionText(families: readonly MetricFamily[], form: ExpositionForm): string {
  const lines: string[] = [];
  for (const family of families) {
    if (family.samples.length === 0) continue;
    const name = prefix + family.name;
    const isCounter = family.type === 'counter';
    // In OpenMetrics the family of a counter has the name without the suffix of its samples.
    const described = isCounter && form === 'prometheus' ? `${name}_total` : name;
    lines.push(`# HELP ${described} ${escapedHelp(family.help)}`);
    lines.push(`# TYPE ${described} ${family.type}`);
    if (family.type === 'histogram')
      for (const sample of family.samples) writeHistogram(lines, name, sample);
    else
      for (const sample of family.samples)
        writeSample(lines, isCounter ? `${name}_total` : name, sample);
  }
  if (form === 'openmetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function writeSample(lines: string[], name: string, { labels, value }: Sample): void {
  lines.push(`${name}${labelText(labels)} ${numberText(value)}`);
}

function writeHistogram(
  lines: string[],
  name: string,
  { labels, histogram }: HistogramSample,
): void {
  for (const [bound, count] of histogram.buckets)
    lines.push(`${name}_bucket${labelText({ ...labels, le: numberText(bound) })} ${count}`);
  lines.push(`${name}_sum${labelText(labels)} ${numberText(histogram.sum)}`);
  lines.push(`${name}_count${labelText(labels)} ${histogram.count}`);
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapedLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

function escapedLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
