import { type Dashboard, percentiles, rateBy, series } from './dashboard.js';

export const sandboxes: Dashboard = {
  name: 'sandboxes',
  title: 'Sandboxes',
  rows: [
    {
      title: 'Sandboxes',
      panels: [
        {
          title: 'Start of a sandbox',
          about: 'From the request to a sandbox that takes commands.',
          unit: 's',
          queries: percentiles('caribou_sandbox_start_duration_seconds'),
        },
        {
          title: 'Starts',
          about: 'Sandboxes that started in a second, by sandbox-manager.',
          unit: 'ops',
          queries: [
            { expr: rateBy('instance', 'caribou_sandbox_start_duration_seconds_count'), legend: '{{instance}}' },
          ],
        },
        {
          title: 'Sandboxes',
          about: 'In use, and how many a sandbox-manager may have.',
          unit: 'short',
          queries: [
            { expr: series('caribou_slots_used', 'kind="sandboxes"'), legend: 'in use {{instance}}' },
            { expr: series('caribou_slots_limit', 'kind="sandboxes"'), legend: 'limit {{instance}}' },
          ],
        },
        {
          title: 'Executions',
          about: 'Commands under way, and how many a sandbox-manager executes at once.',
          unit: 'short',
          queries: [
            { expr: series('caribou_slots_used', 'kind="executions"'), legend: 'in use {{instance}}' },
            { expr: series('caribou_slots_limit', 'kind="executions"'), legend: 'limit {{instance}}' },
          ],
        },
        {
          title: 'Warm sandboxes',
          about: 'Pods that wait for a thread, by sandbox-manager.',
          unit: 'short',
          queries: [{ expr: series('caribou_warm_sandboxes'), legend: '{{instance}}' }],
        },
        {
          title: 'Replies that are remembered',
          about: 'Bytes of finished executions, of which callers may ask again.',
          unit: 'bytes',
          queries: [{ expr: series('caribou_cache_bytes', 'cache="finished_executions"'), legend: '{{instance}}' }],
        },
        {
          title: 'Conversions of documents',
          about: 'Conversion processes in use, and uploads that wait for one.',
          unit: 'short',
          queries: [
            { expr: `sum(${series('caribou_slots_used', 'kind="conversions"')})`, legend: 'in use' },
            { expr: `sum(${series('caribou_queue_length', 'kind="conversions"')})`, legend: 'wait' },
          ],
        },
      ],
    },
  ],
};
