import { z } from 'zod';
import { integer } from './kinds/setting-kinds.js';

export const QuotasFile = z
  .object({
    max_queued_runs_per_thread: integer(100, 1, 10_000).describe('Runs waiting on one thread'),
    max_runs_per_user: integer(1_000, 1, 100_000).describe('Runs of one user that wait or run'),
    max_delayed_runs_per_user: integer(100, 0, 10_000).describe('Runs of one user that wait for their after_seconds'),
    max_after_seconds: integer(2_592_000, 0, 31_536_000).describe('Greatest after_seconds of a run'),
    max_run_bytes_per_user: integer(1_073_741_824, 0, 1_099_511_627_776).describe(
      "Bytes of the inputs and metadata of one user's runs, until the runs are deleted; 0: no limit",
    ),
    max_store_share: z
      .number()
      .min(0.1)
      .max(1)
      .default(0.8)
      .describe("Part of Redis' maxmemory above which new runs are refused while those under way can end"),
    max_event_loop_lag_ms: integer(2_000, 0, 60_000).describe(
      'How late the event loop of a gateway may run (p99 of a second, twice in a row); over it the gateway starts no runs; 0: no limit',
    ),
    max_streams_per_user: integer(1_000, 1, 100_000).describe('Open event streams of one user at one gateway'),
    max_slow_reader_bytes: integer(268_435_456, 16_777_216, 17_179_869_184).describe(
      'Bytes that wait for slow readers of all streams of a gateway; over it the connections of the slowest are closed',
    ),
    max_threads_per_user: integer(10_000, 1, 1_000_000).describe('Threads of one user, those of stateless runs aside'),
    max_store_items_per_user: integer(10_000, 0, 1_000_000).describe('Items of one user in /store; 0: none'),
    max_store_bytes_per_user: integer(67_108_864, 0, 1_099_511_627_776).describe('Bytes of these items, as JSON'),
    max_state_bytes: integer(33_554_432, 1_048_576, 268_435_456).describe(
      "Size of a thread's state as JSON from which clients may add no more to it: no state update, no further run",
    ),
    requests_per_second: integer(100, 0, 1_000_000).describe(
      'Requests of one user at all gateways together; 16 KiB of a JSON body, 32 KiB of an answer and 4 KiB of the state of a run count as one more each; 0: no limit',
    ),
    request_burst: integer(1_000, 1, 1_000_000).describe('Requests of one user that may come at once'),
    key_requests_per_second: integer(0, 0, 1_000_000).describe(
      'Requests with one API key, which count against the limit of its user too; 0: no limit of its own',
    ),
    key_request_burst: integer(1_000, 1, 1_000_000).describe('Requests with one API key that may come at once'),
  })
  .describe('Limits per user and per gateway; over them a request gets 429 or 503 with Retry-After');
