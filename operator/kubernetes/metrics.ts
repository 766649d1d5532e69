/*
 * Prometheus text format, with the names people expect of an operator (operator.md 10.7). Label values come from our own
 * tables and from names of Clusters; there is no label with an unbounded set.
 */

type Labels = Readonly<Record<string, string>>;

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly values: Map<string, number>;
  readonly histograms: Map<string, Histogram>;
  /** Keys of series with further labels, by those of the Cluster: to go through all series for each Cluster is work that squares. */
  readonly ofCluster: Map<string, string[]>;
}

/** Labels of everything that is told of a Cluster; they come first. */
interface ClusterLabels extends Labels {
  readonly namespace: string;
  readonly name: string;
}

/** All numbers of the process. */
export class Metrics {
  readonly #families = new Map<string, Family>();
  readonly #collectors: (() => void)[] = [];

  /** Runs before each scrape, to set gauges. */
  onScrape(collect: () => void): void {
    this.#collectors.push(collect);
  }

  add(name: string, help: string, labels: Labels = {}, amount = 1): void {
    const family = this.#family(name, 'counter', help);
    const key = labelText(labels);
    put(family, labels, key, (family.values.get(key) ?? 0) + amount);
  }

  set(name: string, help: string, labels: Labels, value: number): void {
    put(this.#family(name, 'gauge', help), labels, labelText(labels), value);
  }

  /** A counter that somebody else counts. */
  setTotal(name: string, help: string, labels: Labels, value: number): void {
    put(this.#family(name, 'counter', help), labels, labelText(labels), value);
  }

  has(name: string, labels: Labels): boolean {
    return this.#families.get(name)?.values.has(labelText(labels)) === true;
  }

  /** Forgets all that is told of a Cluster. */
  removeAll(name: string, { namespace, name: cluster }: ClusterLabels): void {
    const family = this.#families.get(name);
    if (family === undefined) return;
    const prefix = labelText({ namespace, name: cluster });
    for (const key of [prefix, ...(family.ofCluster.get(prefix) ?? [])]) {
      family.values.delete(key);
      family.histograms.delete(key);
    }
    family.ofCluster.delete(prefix);
  }

  observeSeconds(name: string, help: string, labels: Labels, seconds: number): void {
    const family = this.#family(name, 'histogram', help);
    const key = labelText(labels);
    const present = family.histograms.get(key);
    const histogram = present ?? { counts: secondsBuckets.map(() => 0), sum: 0, count: 0 };
    if (present === undefined) {
      family.histograms.set(key, histogram);
      noteCluster(family, labels, key);
    }
    histogram.sum += seconds;
    histogram.count++;
    secondsBuckets.forEach((bound, at) => {
      if (seconds <= bound) histogram.counts[at] = (histogram.counts[at] ?? 0) + 1;
    });
  }

  render(): string {
    for (const collect of this.#collectors) collect();
    const lines: string[] = [];
    for (const [name, family] of this.#families) {
      lines.push(`# HELP ${name} ${family.help}`, `# TYPE ${name} ${family.type}`);
      for (const [labels, value] of family.values) lines.push(`${name}${braced(labels)} ${value}`);
      for (const [labels, histogram] of family.histograms)
        lines.push(...histogramLines(name, labels, histogram));
    }
    return `${lines.join('\n')}\n`;
  }

  #family(name: string, type: Family['type'], help: string): Family {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { type, help, values: new Map(), histograms: new Map(), ofCluster: new Map() };
      this.#families.set(name, family);
    }
    return family;
  }
}

function put(family: Family, labels: Labels, key: string, value: number): void {
  if (!family.values.has(key)) noteCluster(family, labels, key);
  family.values.set(key, value);
}

/** Found again by its Cluster; the series of the Cluster alone is found by its name. */
function noteCluster({ ofCluster }: Family, labels: Labels, key: string): void {
  const { namespace, name, ...further } = labels;
  if (namespace === undefined || name === undefined || Object.keys(further).length === 0) return;
  const prefix = labelText({ namespace, name });
  const keys = ofCluster.get(prefix);
  if (keys === undefined) ofCluster.set(prefix, [key]);
  else keys.push(key);
}

function histogramLines(name: string, labels: string, { counts, sum, count }: Histogram): string[] {
  const prefix = labels === '' ? '' : `${labels},`;
  return [
    ...secondsBuckets.map(
      (bound, at) => `${name}_bucket{${prefix}le="${bound}"} ${counts[at] ?? 0}`,
    ),
    `${name}_bucket{${prefix}le="+Inf"} ${count}`,
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${count}`,
  ];
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(
      ([key, value]) =>
        `${key}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`,
    )
    .join(',');
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}
