import { z } from 'zod';
import { HOST_RULE } from './host-rule.js';
import { integer, ms } from './setting-kinds.js';

const MINUTE = 60_000;
const DAY = 86_400_000;

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
