/**
 * The one list of conditions that operators should be alerted of. The rules of Prometheus (deploy/prometheus/alerts.yaml) and the
 * table of docs/operations.md are made from it.
 */

export interface AlertRule {
  /** Name of the rule. */
  readonly name: string;
  readonly expr: string;
  /** How long it has to hold, as Prometheus writes it. */
  readonly holds: string;
  readonly severity: 'critical' | 'warning';
  /** What it means, as the table says it. */
  readonly means: string;
  /** What to do, in one sentence or two. */
  readonly runbook: string;
}

/** A condition that no metric shows. */
export interface OtherCondition {
  readonly condition: string;
  readonly means: string;
}

/** Of exporters that are not a part of Caribou, with the labels that rules use. */
export const FOREIGN_METRICS: Readonly<Record<string, readonly string[]>> = {
  up: ['job', 'instance'],
  probe_success: ['job', 'instance'],
  redis_memory_used_bytes: ['job', 'instance'],
  redis_memory_max_bytes: ['job', 'instance'],
  node_filesystem_avail_bytes: ['job', 'instance', 'mountpoint'],
  node_filesystem_size_bytes: ['job', 'instance', 'mountpoint'],
};

/** The share of a histogram's observations of five minutes that 99 % are below. */
const p99 = (histogram: string): string => `histogram_quantile(0.99, sum by (le) (rate(${histogram}_bucket[5m])))`;

const oldest = (kind: string, seconds: number): string =>
  `max(caribou_queue_oldest_wait_seconds{kind="${kind}"}) > ${seconds}`;

export const alertRules: readonly AlertRule[] = [
  {
    name: 'CaribouNotReady',
    expr: 'probe_success{job="caribou-ready"} == 0',
    holds: '1m',
    severity: 'critical',
    means: '`/ready` of a gateway is 503: new runs fail or wait',
    runbook: 'Ask /ready as an administrator: `missing` names what stops work, with the reason.',
  },
  {
    name: 'CaribouProcessDown',
    expr: 'up{job=~"caribou.*"} == 0',
    holds: '2m',
    severity: 'critical',
    means: 'a process does not answer at `/metrics`',
    runbook: 'Look for service.crash in its log and start it again; its runs are taken over by others meanwhile.',
  },
  {
    name: 'CaribouRunsFail',
    expr:
      'sum(rate(caribou_runs_total{outcome="error"}[10m])) > 0.1 * sum(rate(caribou_runs_total[10m])) ' +
      'and sum(increase(caribou_runs_total[10m])) > 20',
    holds: '5m',
    severity: 'warning',
    means: 'more than a tenth of the runs end as an error: a model, a tool or a limit fails',
    runbook:
      'Compare caribou_model_retries_total and caribou_model_fallbacks_total by reason, and read run.failed in the logs.',
  },
  {
    name: 'CaribouRunUnreadable',
    expr: 'sum(increase(caribou_runs_total{outcome="unreadable"}[1h])) > 0',
    holds: '0m',
    severity: 'critical',
    means: 'a stored record is damaged',
    runbook: 'run.unreadable in the logs names the run. Check the disk and the memory of Redis before anything else.',
  },
  {
    name: 'CaribouRunTakeovers',
    expr: 'sum(increase(caribou_run_takeovers_total[10m])) > 5',
    holds: '0m',
    severity: 'warning',
    means: 'without a deployment: runners die or lose Redis',
    runbook: 'Look for restarts of agent-runners, out-of-memory kills, and process_lease.renew in the logs.',
  },
  {
    name: 'CaribouFencedWrites',
    expr:
      'sum(increase(caribou_fenced_writes_total[10m])) > 0 ' +
      'and sum(increase(caribou_run_takeovers_total[10m])) == 0',
    holds: '0m',
    severity: 'warning',
    means: 'without takeovers: processes are paused for longer than a lease; CPU or memory is short',
    runbook: 'Compare caribou_event_loop_lag_seconds of the services, and look for swapping and CPU limits.',
  },
  {
    name: 'CaribouCommitsSlow',
    expr: `${p99('caribou_commit_duration_seconds')} > 0.1`,
    holds: '5m',
    severity: 'warning',
    means: 'Redis is slow; runs wait for it, for `clocks.outage_ms` beyond their lease',
    runbook: 'Look at the CPU and the disk of Redis, at its slow log, and at the network to it.',
  },
  {
    name: 'CaribouStreamGaps',
    expr: 'sum(increase(caribou_stream_gaps_total[1h])) > 10',
    holds: '0m',
    severity: 'warning',
    means: 'clients come back later than `clocks.events_ttl_ms`, or Redis lost events',
    runbook: 'If Redis was restarted without its data, this passes. Else raise clocks.events_ttl_ms.',
  },
  {
    name: 'CaribouSandboxesSlow',
    expr: `${p99('caribou_sandbox_start_duration_seconds')} > 10`,
    holds: '5m',
    severity: 'warning',
    means: 'the machine of the sandboxes is full',
    runbook: 'Add a machine with a sandbox-manager, or lower sandbox.limits.',
  },
  {
    name: 'CaribouSandboxesFull',
    expr: 'sum(caribou_slots_used{kind="sandboxes"}) > 0.9 * sum(caribou_slots_limit{kind="sandboxes"})',
    holds: '10m',
    severity: 'warning',
    means: 'sandboxes are removed before they were idle for `sandbox.idle_ms`, and threads wait for new ones',
    runbook: 'Add sandbox-managers, or raise sandbox.max_boxes where the machines have room.',
  },
  {
    name: 'CaribouEventLoopLate',
    expr: 'max by (service, instance) (caribou_event_loop_lag_seconds{quantile="1"}) > 2',
    holds: '2m',
    severity: 'warning',
    means: 'a process does nothing for seconds; from 10 s on its leases are lost',
    runbook: 'Look at the CPU limit and the memory of the process, and for swapping; add processes of the service.',
  },
  {
    name: 'CaribouStopsLong',
    expr: 'max by (service, instance) (caribou_draining) == 1',
    holds: '20m',
    severity: 'warning',
    means: 'a process has been stopping for longer than any drain that fits the defaults',
    runbook:
      'Compare the drains in clocks with what supervises the process; read service.stop and thread.give_back in its log.',
  },
  {
    name: 'CaribouRunsWait',
    expr: oldest('runs', 30),
    holds: '1m',
    severity: 'critical',
    means: 'no agent-runner has a free slot, or none runs: add agent-runners',
    runbook: 'Compare caribou_slots_used with caribou_slots_limit of kind runs; add agent-runners when they are equal.',
  },
  {
    name: 'CaribouClaimsLate',
    expr: 'sum(rate(caribou_turn_offers_total{outcome="late"}[5m])) > 0',
    holds: '5m',
    severity: 'warning',
    means: 'an agent-runner or Redis takes more than a second for a claim',
    runbook: 'Compare caribou_redis_script_duration_seconds with caribou_event_loop_lag_seconds of the agent-runners.',
  },
  {
    name: 'CaribouTasksWait',
    expr: oldest('tasks', 60),
    holds: '1m',
    severity: 'warning',
    means: '`subagents.max_running` or the slots of the subagent-pools are used up',
    runbook: 'Raise subagents.max_running when slots are free, else add subagent-pools.',
  },
  {
    name: 'CaribouCronsWait',
    expr: oldest('crons', 30),
    holds: '1m',
    severity: 'warning',
    means: 'no gateway starts runs of crons, or runs are refused (`last_error` of crons)',
    runbook: 'Look at caribou_cron_put_off_total and at refused requests by reason.',
  },
  {
    name: 'CaribouWebhooksWait',
    expr: oldest('webhooks', 3_600),
    holds: '5m',
    severity: 'warning',
    means: 'a receiver does not answer: `GET /webhooks/events` of its user',
    runbook: 'Find the receiver by the events of its user and tell who runs it.',
  },
  {
    name: 'CaribouMemoryWaits',
    expr: oldest('memory', 3_600),
    holds: '5m',
    severity: 'warning',
    means: 'memory-workers or their model are too slow',
    runbook: 'Compare caribou_memory_extractions_total by outcome; add memory-workers when they succeed.',
  },
  {
    name: 'CaribouOverloaded',
    expr: 'sum(rate(caribou_refused_requests_total{reason="overloaded"}[5m])) > 0',
    holds: '1m',
    severity: 'critical',
    means: 'a gateway has too much to do (`quotas.max_event_loop_lag_ms`): add gateways',
    runbook: 'Add gateways; until then clients are told when to try again.',
  },
  {
    name: 'CaribouRedisMemory',
    expr: 'max(caribou_redis_memory_ratio) > 0.7',
    holds: '5m',
    severity: 'warning',
    means: 'at `quotas.max_store_share` (80 %) new runs get 429',
    runbook: 'Raise maxmemory, or have threads that nobody needs deleted.',
  },
  {
    name: 'CaribouDiskFull',
    expr:
      'node_filesystem_avail_bytes{mountpoint="/var/lib/caribou"} ' +
      '< 0.1 * node_filesystem_size_bytes{mountpoint="/var/lib/caribou"}',
    holds: '5m',
    severity: 'critical',
    means: 'at `sandbox.limits.min_free_bytes` commands are ended',
    runbook: 'Free or add space at CARIBOU_HOME; change the mount point in the rule to yours.',
  },
];

export const otherConditions: readonly OtherCondition[] = [
  { condition: 'log lines of level `error`', means: 'each of them is a defect or lost work' },
];
