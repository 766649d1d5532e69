import type { ProcessReading } from '#platform/process-telemetry.ts';
import { counter, gauge, type MetricFamily } from './telemetry.ts';

/** What the process uses, as families. */
export function processFamilies(reading: ProcessReading): readonly MetricFamily[] {
  const { loopDelay } = reading;
  return [
    counter(
      'process_cpu_seconds',
      'Processor time of the process',
      reading.userSeconds + reading.systemSeconds,
    ),
    counter('process_cpu_user_seconds', 'Processor time in user mode', reading.userSeconds),
    counter('process_cpu_system_seconds', 'Processor time in the kernel', reading.systemSeconds),
    gauge(
      'process_start_time_seconds',
      'When the process started, seconds since 1970',
      reading.startTimeSeconds,
    ),
    gauge('process_resident_memory_bytes', 'Memory of the process', reading.residentBytes),
    gauge('nodejs_heap_used_bytes', 'Heap in use', reading.heapUsedBytes),
    gauge('nodejs_heap_total_bytes', 'Heap that is reserved', reading.heapTotalBytes),
    gauge('nodejs_external_bytes', 'Memory of objects outside the heap', reading.externalBytes),
    gauge('nodejs_array_buffer_bytes', 'Memory of array buffers', reading.arrayBufferBytes),
    gauge('nodejs_eventloop_lag_seconds', 'Mean delay of the event loop', loopDelay.mean),
    gauge('nodejs_eventloop_lag_p99_seconds', '99th percentile of it', loopDelay.p99),
    gauge('nodejs_eventloop_lag_max_seconds', 'Largest of it since the last scrape', loopDelay.max),
    gauge(
      'nodejs_eventloop_utilization',
      'Part of the time in which the event loop had work',
      reading.loopUtilization,
    ),
    {
      name: 'nodejs_gc_seconds',
      help: 'Time of garbage collections, by kind',
      type: 'histogram',
      samples: reading.collections.map(([kind, histogram]) => ({ labels: { kind }, histogram })),
    },
  ];
}
