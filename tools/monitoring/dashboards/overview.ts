import { type Dashboard, percentiles, rateBy, series } from './dashboard.js';

export const overview: Dashboard = {
  name: 'overview',
  title: 'Overview',
  rows: [
    {
      title: 'At present',
      panels: [
        {
          title: 'Pending threads',
          about: 'Threads with a run that waits or is under way. Every gateway shows the same figure.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: `max(${series('caribou_pending_threads')})`, legend: 'threads' }],
        },
        {
          title: 'Runs under way',
          about: 'Slots of agent-runners that are in use.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: `sum(${series('caribou_active_runs', 'service="agent-runner"')})`, legend: 'runs' }],
        },
        {
          title: 'Longest wait for a slot',
          about: 'How long the run that has waited longest has done so.',
          unit: 's',
          kind: 'stat',
          queries: [{ expr: `max(${series('caribou_queue_oldest_wait_seconds', 'kind="runs"')})`, legend: 'wait' }],
        },
        {
          title: 'Open streams',
          about: 'Event streams and answers that wait for a run.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: `sum(${series('caribou_open_streams')})`, legend: 'streams' }],
        },
        {
          title: 'Tokens per second',
          about: 'As providers counted them.',
          unit: 'short',
          kind: 'stat',
          queries: [{ expr: rateBy('kind', 'caribou_model_tokens_total'), legend: '{{kind}}' }],
        },
      ],
    },
    {
      title: 'Runs and requests',
      panels: [
        {
          title: 'Runs that end',
          about: 'By outcome, in a second.',
          unit: 'ops',
          isStacked: true,
          queries: [{ expr: rateBy('outcome', 'caribou_runs_total'), legend: '{{outcome}}' }],
        },
        {
          title: 'Refused requests',
          about: 'Answers 429 and 503, by the limit.',
          unit: 'reqps',
          isStacked: true,
          queries: [{ expr: rateBy('reason', 'caribou_refused_requests_total'), legend: '{{reason}}' }],
        },
        {
          title: 'Step of a run',
          about: 'From the load of the state to its commit; mostly the model.',
          unit: 's',
          queries: percentiles('caribou_model_turn_duration_seconds'),
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'Processor',
          about: 'Cores in use, by service.',
          unit: 'short',
          queries: [{ expr: rateBy('service', 'process_cpu_seconds_total'), legend: '{{service}}' }],
        },
        {
          title: 'Memory',
          about: 'Resident memory of all processes of a service.',
          unit: 'bytes',
          queries: [{ expr: `sum by (service) (${series('process_resident_memory_bytes')})`, legend: '{{service}}' }],
        },
        {
          title: 'Heap and buffers',
          about: 'Objects of V8, and memory outside of its heap.',
          unit: 'bytes',
          queries: [
            { expr: `sum by (service) (${series('nodejs_heap_size_used_bytes')})`, legend: 'heap {{service}}' },
            { expr: `sum by (service) (${series('nodejs_external_memory_bytes')})`, legend: 'external {{service}}' },
          ],
        },
        {
          title: 'Event loop',
          about: 'How late timers ran; the worst process of a service.',
          unit: 's',
          queries: [
            {
              expr: `max by (service) (${series('caribou_event_loop_lag_seconds', 'quantile="0.99"')})`,
              legend: '{{service}}',
            },
          ],
        },
        {
          title: 'Stopping',
          about: 'Processes between the signal to stop and their end: a deployment, or one that hangs.',
          unit: 'short',
          queries: [{ expr: `sum by (service) (${series('caribou_draining')})`, legend: '{{service}}' }],
        },
        {
          title: 'Slow readers',
          about: 'Bytes that wait for slow readers of streams, by gateway.',
          unit: 'bytes',
          queries: [{ expr: series('caribou_slow_reader_bytes'), legend: '{{instance}}' }],
        },
        {
          title: 'Streams that came too late',
          about: 'Streams that asked for events that have expired.',
          unit: 'ops',
          queries: [{ expr: rateBy('instance', 'caribou_stream_gaps_total'), legend: '{{instance}}' }],
        },
      ],
    },
  ],
};
