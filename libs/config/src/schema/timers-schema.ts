import { z } from 'zod';
import { HOST_RULE } from './host-rule.js';
import { integer, ms } from './kinds/setting-kinds.js';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Drain of one service, in milliseconds; unset: drain_ms. The longest command takes an hour. */
const drain = () => z.int().min(1).max(7_200_000).optional();

export const ClocksFile = z
  .object({
    lease_ms: ms(10_000).describe("A runner's lease on a thread"),
    renew_ms: ms(3_000).describe('How often a runner renews its lease; at most a third of lease_ms'),
    outage_ms: integer(60_000, 0, 3_600_000).describe(
      'How long after its lease a run waits for a Redis that is away or full; then it is left to another runner',
    ),
    process_lease_ms: ms(3_500).describe(
      'Lease of an agent-runner, subagent-pool or memory-worker itself: after it, others take over what it worked on',
    ),
    process_renew_ms: ms(500).describe('How often a process renews its lease; at most a quarter of process_lease_ms'),
    ack_wait_ms: ms(10_000).describe(
      'How long NATS waits for the acknowledgement of a wake before it delivers it again',
    ),
    busy_nak_ms: ms(500).describe('How long a subagent-pool waits when its next task still belongs to another pool'),
    sweep_ms: ms(5_000).describe('How often each service checks for work without an owner'),
    manager_lease_ms: ms(10_000).describe("A sandbox-manager's own lease"),
    manager_renew_ms: ms(3_000).describe(
      'How often a sandbox-manager renews its lease; at most a third of manager_lease_ms',
    ),
    manager_check_ms: ms(2_000).describe("How often a waiting runner checks the manager's lease"),
    event_window_ms: integer(100, 0, 10_000).describe(
      'Time between two writes of streamed text to the event log of a run; clients get it at once. 0: written first',
    ),
    timer_ms: ms(1_000).describe(
      'How often a gateway at least checks for crons, delayed runs and webhooks that are due',
    ),
    heartbeat_ms: ms(5_000).describe('Comment line on a silent event stream'),
    events_ttl_ms: ms(3_600_000, 604_800_000).describe("How long a run's events and kwargs are stored after its end"),
    idempotency_ttl_ms: ms(86_400_000, 604_800_000).describe('How long an Idempotency-Key is remembered'),
    model_connect_ms: ms(10_000).describe('Until the connection to the model endpoint is open'),
    model_first_byte_ms: ms(300_000).describe('From the request to the first piece of the answer'),
    model_chunk_ms: ms(120_000).describe('Between two pieces of the answer'),
    drain_ms: ms(30_000).describe('Longest orderly stop after SIGTERM, of services without one of their own'),
    gateway_drain_ms: drain().describe('The same of a gateway, after gateway_drain_delay_ms; unset: drain_ms'),
    runner_drain_ms: drain().describe('The same of an agent-runner; unset: drain_ms'),
    pool_drain_ms: drain().describe('The same of a subagent-pool; unset: drain_ms'),
    memory_drain_ms: drain().describe('The same of a memory-worker; unset: drain_ms'),
    manager_drain_ms: drain().describe(
      'The same of a sandbox-manager; commands that still run 30 s before its end are ended, so that it should be longer than sandbox.limits.command_timeout_ms by more than that; unset: drain_ms',
    ),
    gateway_drain_delay_ms: integer(0, 0, 300_000).describe(
      'How long a gateway works as before after SIGTERM, while /ready is 503 already and load balancers turn away',
    ),
  })
  .describe('Every clock of the system, in milliseconds');

export const CronsFile = z
  .object({
    max_per_user: integer(100, 0, 1_000).describe('Crons and scheduled tasks that one user may have'),
    min_interval_seconds: integer(60, 1, 86_400).describe('Least time between two due times of a cron'),
    max_bytes: integer(65_536, 1_024, 1_048_576).describe('Size of the request that a cron repeats'),
    catch_up: z
      .enum(['latest', 'all', 'none'])
      .default('latest')
      .describe(
        'Due times that were missed while no gateway or no Redis was there. latest: one run for the newest one; all: a run for each; none: no run; older ones than catch_up_ms are left out',
      ),
    catch_up_ms: ms(3_600_000, DAY).describe('How late a due time may start its run'),
  })
  .describe('Runs at set times (docs/crons.md)');

export const ExplainFile = z
  .object({
    enabled: z.boolean().default(true).describe('Store for each run what happened in it, step by step'),
    retention_ms: ms(3 * DAY, 30 * DAY).describe('How long that is stored after the end of the run'),
  })
  .describe('Traces of runs (docs/explain.md)');

export const WebhooksFile = z
  .object({
    secret: z
      .string()
      .regex(/^[\x21-\x7e]{16,512}$/, 'must be 16 to 512 printable ASCII characters without spaces')
      .optional()
      .describe('Signs deliveries, such as $CARIBOU_WEBHOOK_SECRET; unset: they are not signed'),
    previous_secret: z
      .string()
      .regex(/^[\x21-\x7e]{16,512}$/, 'must be 16 to 512 printable ASCII characters without spaces')
      .optional()
      .describe('Signs deliveries as well, while receivers change to another secret'),
    allow: z
      .array(z.string().max(300).regex(HOST_RULE, 'must be a host or *.suffix, with :port where it is not 80 or 443'))
      .max(1_000)
      .default([])
      .describe(
        'Hosts that webhooks may name besides public ones on ports 80 and 443, such as localhost:3000; they may lie in a private network',
      ),
    max_waiting_per_user: integer(1_000, 1, 100_000).describe(
      'Events of one user that wait for their delivery; above it no run with a webhook is started',
    ),
    max_failed_per_user: integer(100, 1, 1_000).describe('Events that were given up and are listed, the newest ones'),
    max_body_bytes: integer(1_048_576, 16_384, 16_777_216).describe(
      'Size of a delivery; a larger one has no values and no kwargs',
    ),
    max_at_once: integer(32, 1, 1_000).describe('Deliveries of one gateway at once'),
    max_at_once_per_user: integer(8, 1, 1_000).describe('Deliveries of one user at once, of all gateways'),
    max_at_once_per_host: integer(4, 1, 1_000).describe('Deliveries to one host at once, of all gateways'),
    timeout_ms: integer(10_000, 100, 60_000).describe('How long a receiver may take to answer'),
    retry_ms: integer(5_000, 50, MINUTE * 10).describe(
      'First pause after a failed attempt; each further one is twice as long, at most an hour',
    ),
    max_age_ms: integer(DAY, 1_000, 7 * DAY).describe('An event that was not delivered by then is given up'),
  })
  .describe('Announcement of the ends of runs (docs/webhooks.md)');
