import { z } from 'zod';
import { AGENT_LIMITS, AGENT_PROTOCOL_VERSION } from './exec.js';

/** Content type of a sequence of frames. */
export const FRAMES_TYPE = 'application/vnd.caribou.frames';

/**
 * Routes of a sandbox agent, HTTP/1.1 with `Authorization: Bearer <token>` on all but `ready`.
 *
 * - `GET  /healthz`    204 as soon as it listens; no token
 * - `GET  /v1/health`  AgentHealth
 * - `POST /v1/lease`   AgentLease → AgentHealth; until then, and when the lease has run out, nothing runs
 * - `POST /v1/exec`    frames (head, changes, changes of skills) → frames (started, output, changes, result)
 * - `POST /v1/pull`    frames (head) → frames (changes, result)
 * - `POST /v1/kill`    AgentKill → AgentKilled; the reply to the request that ran the command has its result
 *
 * A refusal is a WireError as JSON with the status of its code. After the first frame of a reply a failure is a frame `error`.
 */
export const AGENT_ROUTES = {
  ready: '/healthz',
  health: `/v${AGENT_PROTOCOL_VERSION}/health`,
  lease: `/v${AGENT_PROTOCOL_VERSION}/lease`,
  exec: `/v${AGENT_PROTOCOL_VERSION}/exec`,
  pull: `/v${AGENT_PROTOCOL_VERSION}/pull`,
  kill: `/v${AGENT_PROTOCOL_VERSION}/kill`,
} as const;

/** A reply under way has a frame after this time at the latest, in milliseconds. */
export const ALIVE_MS = 5_000;

export const AgentHealth = z.object({
  version: z.literal(AGENT_PROTOCOL_VERSION),
  /** Distinguishes this process from one that is started in its place later. */
  instance: z.string(),
  /** The id of the request that runs, or null. */
  running: z.string().nullable(),
  /** What is left of the lease. */
  leaseMs: z.number().min(0),
  /** Processes in the sandbox besides the agent; 0 between commands. */
  processes: z.number().int().min(0),
  /** The session of files, and the number of the last changes that were sent. */
  mirror: z.object({ session: z.string().nullable(), number: z.number().int().min(0) }),
});
export type AgentHealth = z.infer<typeof AgentHealth>;

/** Extends the lease to so many milliseconds from now. */
export const AgentLease = z.object({ leaseMs: z.number().int().min(0).max(AGENT_LIMITS.leaseMs) });

/** Ends the command of one request as cancelled; without `id` whatever runs. */
export const AgentKill = z.object({ id: z.string().max(64).optional() });
export const AgentKilled = z.object({ ended: z.boolean() });

/**
 * What the agent sends first on a connection to the manager's proxy, followed by the bytes of the program in the sandbox:
 * `caribou-egress 1 <token>` and a line feed.
 */
export const EGRESS_PREAMBLE = 'caribou-egress 1 ';
