import { parseArgs } from 'node:util';
import { benchCatchingUp, benchClusterBatch } from './cluster/bulk.ts';
import { benchBusyLeader } from './cluster/busy.ts';
import { benchCommits } from './cluster/commits.ts';
import { benchCopies } from './cluster/copies.ts';
import { benchCuts, benchKills } from './cluster/failover.ts';
import { benchIdle } from './cluster/idle.ts';
import { benchReads } from './cluster/reads.ts';
import { benchStart, benchTools } from './agents/tools.ts';
import { benchWire } from './agents/wire.ts';
import { benchCypherLdbc } from './cypher/ldbc.ts';
import { benchCypherLsqb } from './cypher/lsqb.ts';
import { benchCypherWork } from './cypher/work.ts';
import { benchBatch } from './http/batch.ts';
import { benchPoints } from './http/points.ts';
import { type Comparison, printTable } from './measure.ts';
import { benchDense } from './search/dense.ts';
import { benchPlaces, benchTexts } from './search/searches.ts';
import { benchSparse } from './search/sparse.ts';
import { benchAnalytics } from './scale/analytics.ts';
import { benchBackups } from './scale/backups.ts';
import { benchGraphs, benchOrders } from './scale/graphs.ts';
import { benchLoads } from './scale/loads.ts';
import { benchSingleRecords } from './scale/single-records.ts';
import { makeSpineData } from './spine/data.ts';
import { benchEngine } from './spine/engine.ts';
import { benchHttp } from './spine/http.ts';
import { benchResponsiveness } from './spine/responsiveness.ts';
import { benchLsqb } from './sql/lsqb.ts';
import { benchStatements } from './sql/statements.ts';

// npm run bench -- --suite spine [--only engine|http|responsiveness] [--rounds 5]
// npm run bench -- --suite http [--only batch|points] [--rounds 5]
// npm run bench -- --suite sql [--only statements|lsqb] [--rounds 5]
// npm run bench -- --suite cypher [--only work|lsqb|ldbc] [--rounds 5]
// npm run bench -- --suite search [--only texts|dense|sparse|places] [--rounds 5]
// npm run bench -- --suite agents [--only tools|wire|start] [--rounds 5]
// npm run bench -- --suite scale [--only records|loads|graphs|orders|analytics|backups] [--rounds 5]
// Ratios against peers in the same run; every answer is checked for equality first. Loopback and this machine only.
const { values } = parseArgs({
  options: {
    suite: { type: 'string', default: 'spine' },
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
  },
});
const rounds = Number(values.rounds);
type Sections = Readonly<Record<string, () => Promise<Comparison[]>>>;
let spineData: ReturnType<typeof makeSpineData> | undefined;
const data = (): ReturnType<typeof makeSpineData> => (spineData ??= makeSpineData());
const suites: Readonly<Record<string, Sections>> = {
  spine: {
    engine: () => benchEngine(data(), rounds),
    http: () => benchHttp(data(), rounds),
    responsiveness: () => benchResponsiveness(data()),
  },
  sql: {
    statements: () => benchStatements(rounds),
    lsqb: () => benchLsqb(rounds),
  },
  cypher: {
    work: () => benchCypherWork(rounds),
    lsqb: () => benchCypherLsqb(rounds),
    ldbc: () => benchCypherLdbc(),
  },
  search: {
    texts: () => benchTexts(rounds),
    dense: () => benchDense(rounds),
    sparse: () => benchSparse(rounds),
    places: () => benchPlaces(rounds),
  },
  agents: {
    tools: () => benchTools(rounds),
    wire: () => benchWire(rounds),
    start: () => benchStart(rounds),
  },
  cluster: {
    commits: () => benchCommits(rounds),
    batch: () => benchClusterBatch(data()),
    reads: () => benchReads(rounds),
    'catching-up': () => benchCatchingUp(),
    copies: () => benchCopies(rounds),
    kills: () => benchKills(rounds * 20),
    cuts: () => benchCuts(rounds * 4),
    busy: () => benchBusyLeader(),
    idle: () => benchIdle(),
  },
  scale: {
    records: () => benchSingleRecords(data(), rounds),
    loads: () => benchLoads(),
    graphs: () => benchGraphs(data(), rounds),
    orders: () => benchOrders(rounds),
    analytics: () => benchAnalytics(rounds),
    backups: () => benchBackups(data()),
  },
  http: {
    batch: () => benchBatch(data(), rounds),
    points: () => benchPoints(data(), rounds),
  },
};
const sections = suites[values.suite];
if (sections === undefined) {
  throw new Error(`no suite '${values.suite}'; there are: ${Object.keys(suites).join(', ')}`);
}
let misses = 0;
for (const [name, run] of Object.entries(sections)) {
  if (values.only !== undefined && values.only !== name) continue;
  process.stdout.write(`== ${name}\n`);
  const comparisons = await run();
  printTable(comparisons);
  misses += comparisons.filter(({ isReached }) => !isReached).length;
}
process.stdout.write(`${misses} targets missed\n`);
process.exit(0);
