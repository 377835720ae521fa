import { type Dashboard, percentiles, rateBy, series } from './dashboard.js';

export const models: Dashboard = {
  name: 'models',
  title: 'Models',
  rows: [
    {
      title: 'Model calls',
      panels: [
        {
          title: 'Tokens',
          about: 'Per second, as providers counted them.',
          unit: 'short',
          isStacked: true,
          queries: [{ expr: rateBy('kind', 'caribou_model_tokens_total'), legend: '{{kind}}' }],
        },
        {
          title: 'Tokens by service',
          about: 'Runs, subagents, memory and suggestions.',
          unit: 'short',
          isStacked: true,
          queries: [{ expr: rateBy('service', 'caribou_model_tokens_total'), legend: '{{service}}' }],
        },
        {
          title: 'Step of a run',
          about: 'From the load of the state to its commit.',
          unit: 's',
          queries: percentiles('caribou_model_turn_duration_seconds', 'service'),
        },
        {
          title: 'Calls that are tried again',
          about: 'Failed model calls, by reason.',
          unit: 'ops',
          isStacked: true,
          queries: [{ expr: rateBy('reason', 'caribou_model_retries_total'), legend: '{{reason}}' }],
        },
        {
          title: 'Calls that a fallback gets',
          about: 'Failed model calls, by reason.',
          unit: 'ops',
          isStacked: true,
          queries: [{ expr: rateBy('reason', 'caribou_model_fallbacks_total'), legend: '{{reason}}' }],
        },
        {
          title: 'Budgets',
          about: 'Runs near a budget of the day, or ended by it.',
          unit: 'ops',
          queries: [{ expr: rateBy('state', 'caribou_budget_reached_total'), legend: '{{state}}' }],
        },
      ],
    },
    {
      title: 'Memory',
      panels: [
        {
          title: 'Extractions',
          about: 'Conversations that were read, by outcome.',
          unit: 'ops',
          isStacked: true,
          queries: [{ expr: rateBy('outcome', 'caribou_memory_extractions_total'), legend: '{{outcome}}' }],
        },
        {
          title: 'Time of an extraction',
          about: 'Mostly its model.',
          unit: 's',
          queries: percentiles('caribou_memory_extraction_duration_seconds'),
        },
        {
          title: 'Threads that wait',
          about: 'Threads that wait for memory extraction, of all users.',
          unit: 'short',
          queries: [{ expr: `max(${series('caribou_memory_queue_length')})`, legend: 'threads' }],
        },
      ],
    },
  ],
};
