import type { CallRecord } from '../kubernetes/port.ts';
import type { Metrics } from '../kubernetes/metrics.ts';

const httpMethods: Readonly<Record<string, string>> = {
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
};

/** Counts a call of the API server by method, as people expect it, and by what was asked, which is compared with the rights. */
export function noteCall(
  metrics: Metrics,
  { verb, group, resource }: CallRecord,
  status: number,
  isPassing: boolean,
): void {
  const code = String(status);
  const method = httpMethods[verb] ?? 'GET';
  metrics.add('rest_client_requests_total', 'Calls of the API server', { code, method });
  const call = { verb, group, resource, code: isPassing ? 'passing' : code };
  metrics.add('polyad_operator_api_calls_total', 'Calls of the API server by right', call);
}

/** Numbers of the process, under the names that Prometheus clients of Node give them. @param nowMs milliseconds since 1970 */
export function reportProcess(metrics: Metrics, nowMs: number): void {
  const startedAtSeconds = nowMs / 1000 - process.uptime();
  metrics.onScrape(() => {
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
    const gauges: readonly (readonly [string, string, number])[] = [
      ['process_resident_memory_bytes', 'Resident memory', rss],
      ['process_start_time_seconds', 'When the process started', startedAtSeconds],
      ['nodejs_heap_size_used_bytes', 'Heap in use', heapUsed],
      ['nodejs_heap_size_total_bytes', 'Heap', heapTotal],
      ['nodejs_external_memory_bytes', 'Memory outside of the heap', external],
    ];
    for (const [name, help, value] of gauges) metrics.set(name, help, {}, value);
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.setTotal('process_cpu_seconds_total', 'Processor time', {}, seconds);
  });
}
