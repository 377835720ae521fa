import { type Dashboard, percentiles, rateBy, series } from './dashboard.js';

export const runs: Dashboard = {
  name: 'runs',
  title: 'Runs and queues',
  rows: [
    {
      title: 'Queues',
      panels: [
        {
          title: 'Length',
          about: 'Work that waits, of all users. The queue of conversions is each gateway’s own.',
          unit: 'short',
          queries: [
            { expr: `max by (kind) (${series('caribou_queue_length', 'kind!="conversions"')})`, legend: '{{kind}}' },
            { expr: `sum by (kind) (${series('caribou_queue_length', 'kind="conversions"')})`, legend: '{{kind}}' },
          ],
        },
        {
          title: 'Longest wait',
          about: 'How long the work that has waited longest has done so.',
          unit: 's',
          queries: [{ expr: `max by (kind) (${series('caribou_queue_oldest_wait_seconds')})`, legend: '{{kind}}' }],
        },
        {
          title: 'Slots in use',
          about: 'Share of the slots of all processes, by kind.',
          unit: 'percentunit',
          queries: [
            {
              expr: `sum by (kind) (${series('caribou_slots_used')}) / sum by (kind) (${series('caribou_slots_limit')})`,
              legend: '{{kind}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Runs',
      panels: [
        {
          title: 'Wait for the first claim',
          about: 'From the admission of a run to its first claim.',
          unit: 's',
          queries: percentiles('caribou_run_wait_duration_seconds'),
        },
        {
          title: 'Offers to agent-runners',
          about: 'All but taken went through the queue.',
          unit: 'ops',
          isStacked: true,
          queries: [{ expr: rateBy('outcome', 'caribou_turn_offers_total'), legend: '{{outcome}}' }],
        },
        {
          title: 'Lost and taken over',
          about: 'Claims of runs whose owner was lost, work that was fenced off, and notifications that came twice.',
          unit: 'ops',
          queries: [
            { expr: rateBy('service', 'caribou_run_takeovers_total'), legend: 'takeovers {{service}}' },
            { expr: rateBy('service', 'caribou_fenced_writes_total'), legend: 'fenced {{service}}' },
            { expr: rateBy('service', 'caribou_redelivered_notifications_total'), legend: 'redelivered {{service}}' },
          ],
        },
        {
          title: 'Size of what runs write',
          about: 'Checkpoints, messages and values of a run, and its event log.',
          unit: 'bytes',
          queries: [
            ...percentiles('caribou_run_state_bytes').map((query) => ({ ...query, legend: `state ${query.legend}` })),
            ...percentiles('caribou_run_event_log_bytes').map((query) => ({ ...query, legend: `log ${query.legend}` })),
          ],
        },
        {
          title: 'Tool calls',
          about: 'That end in a second, the ten most frequent tools.',
          unit: 'ops',
          queries: [{ expr: `topk(10, ${rateBy('tool', 'caribou_tool_calls_total')})`, legend: '{{tool}}' }],
        },
        {
          title: 'Tool calls that fail',
          about: 'Share of the calls of a tool that end as an error.',
          unit: 'percentunit',
          queries: [
            {
              expr: `${rateBy('tool', 'caribou_tool_calls_total', 'outcome="error"')} / ${rateBy('tool', 'caribou_tool_calls_total')}`,
              legend: '{{tool}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Crons and webhooks',
      panels: [
        {
          title: 'Lateness of crons',
          about: 'From the due time to the start of the run.',
          unit: 's',
          queries: percentiles('caribou_cron_lateness_seconds'),
        },
        {
          title: 'Due times without a run',
          about: 'Missed by reason, put off, and delayed runs that started.',
          unit: 'ops',
          queries: [
            { expr: rateBy('reason', 'caribou_cron_missed_total'), legend: 'missed: {{reason}}' },
            { expr: rateBy('service', 'caribou_cron_put_off_total'), legend: 'put off' },
            { expr: rateBy('service', 'caribou_delayed_runs_started_total'), legend: 'delayed runs started' },
          ],
        },
        {
          title: 'Webhooks',
          about: 'Attempts to deliver the end of a run, by outcome.',
          unit: 'ops',
          queries: [
            { expr: rateBy('outcome', 'caribou_webhook_attempt_duration_seconds_count'), legend: '{{outcome}}' },
          ],
        },
      ],
    },
  ],
};
