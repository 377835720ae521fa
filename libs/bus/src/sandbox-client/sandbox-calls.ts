import { createHash } from 'node:crypto';
import { type SandboxExec, type SandboxRead } from '@caribou/contracts';
import type { ExecOutcome, ReadOutcome } from '@caribou/core';
import type { z } from 'zod';

/**
 * Hash of what the model decided about an execution. Limits are left out: they are the operator's and may change
 * between two attempts at the same call; so is what a file is expected to be, which the runner adds.
 */
export function argsHash(fields: Readonly<Record<string, string | boolean>>): string {
  const canonical = JSON.stringify(Object.entries(fields).sort(([left], [right]) => (left < right ? -1 : 1)));
  return createHash('sha256').update(canonical).digest('hex');
}

/** What a request that changes nothing says of whom it is for. */
export const onBehalfOf = (key: string | undefined): { readonly key?: string } => (key === undefined ? {} : { key });

export function toExecOutcome(reply: z.output<(typeof SandboxExec)['reply']>): ExecOutcome {
  if (reply.outcome === 'unknown') return reply;
  return {
    outcome: 'done',
    exitCode: reply.exit_code,
    stdout: reply.stdout,
    stderr: reply.stderr,
    truncatedBytes: reply.truncated_bytes,
    timedOut: reply.timed_out,
    cancelled: reply.cancelled,
    durationMs: reply.duration_ms,
  };
}

export function toReadOutcome(reply: z.output<(typeof SandboxRead)['reply']>): ReadOutcome {
  if (reply.outcome === 'refused') return reply;
  return {
    outcome: 'ok',
    text: reply.text,
    totalBytes: reply.total_bytes,
    totalLines: reply.total_lines,
    truncated: reply.truncated,
    ...(reply.sha256 === undefined ? {} : { sha256: reply.sha256 }),
  };
}
