import { type Dashboard, percentiles, rateBy, series } from './dashboard.js';

export const stores: Dashboard = {
  name: 'stores',
  title: 'Stores',
  rows: [
    {
      title: 'Redis, as the services see it',
      panels: [
        {
          title: 'Commits',
          about: 'The fenced write that ends a step.',
          unit: 's',
          queries: percentiles('caribou_commit_duration_seconds'),
        },
        {
          title: 'Scripts',
          about: 'Calls in a second, the ten most frequent scripts.',
          unit: 'ops',
          queries: [
            {
              expr: `topk(10, ${rateBy('script', 'caribou_redis_script_duration_seconds_count')})`,
              legend: '{{script}}',
            },
          ],
        },
        {
          title: 'Slowest scripts',
          about: 'Mean time from the request to the reply, the ten slowest.',
          unit: 's',
          queries: [
            {
              expr: `topk(10, ${rateBy('script', 'caribou_redis_script_duration_seconds_sum')} / ${rateBy('script', 'caribou_redis_script_duration_seconds_count')})`,
              legend: '{{script}}',
            },
          ],
        },
        {
          title: 'Scripts by service',
          about: 'The 99th percentile tells a slow Redis from a busy service: the latter is alone.',
          unit: 's',
          queries: percentiles('caribou_redis_script_duration_seconds', 'service').slice(1),
        },
        {
          title: 'Memory of Redis, its share',
          about: 'Of maxmemory, as gateways read it; 0 without one. New runs are refused at quotas.max_store_share.',
          unit: 'percentunit',
          queries: [{ expr: `max(${series('caribou_redis_memory_ratio')})`, legend: 'in use' }],
        },
        {
          title: 'Caches',
          about: 'Share of a cache that is in use; the fullest process.',
          unit: 'percentunit',
          queries: [
            {
              expr: `max by (cache) (${series('caribou_cache_bytes')} / ${series('caribou_cache_limit_bytes')})`,
              legend: '{{cache}}',
            },
          ],
        },
        {
          title: 'Refused because of the store',
          about: 'The store is full or does not answer.',
          unit: 'reqps',
          queries: [
            {
              expr: rateBy('reason', 'caribou_refused_requests_total', 'reason=~"store_full|unavailable"'),
              legend: '{{reason}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Redis and the disk, by their exporters',
      panels: [
        {
          title: 'Memory of Redis',
          about: 'Of redis_exporter. New runs are refused at quotas.max_store_share.',
          unit: 'bytes',
          queries: [
            { expr: 'redis_memory_used_bytes', legend: 'used {{instance}}' },
            { expr: 'redis_memory_max_bytes', legend: 'maxmemory {{instance}}' },
          ],
        },
        {
          title: 'Free space',
          about: 'Of node_exporter. Commands are ended at sandbox.limits.min_free_bytes.',
          unit: 'bytes',
          queries: [
            {
              expr: 'node_filesystem_avail_bytes{mountpoint="/var/lib/caribou"}',
              legend: '{{instance}} {{mountpoint}}',
            },
          ],
        },
      ],
    },
  ],
};
