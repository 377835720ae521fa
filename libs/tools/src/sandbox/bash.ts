import type { OutputPiece, SandboxReply } from '@caribou/contracts';
import { type AnyTool, defineTool, type SandboxPort, type ToolContext, type ToolOutcome } from '@caribou/core';
import { z } from 'zod';
import { cutMiddle } from './cut-text.js';
import { DESCRIPTION_HINT, toFailedOutcome, scopeOf } from './sandbox-request.js';

const DEFAULT_TIMEOUT_MS = 600_000;
/** Maximum bytes of output from the executor, so that it fits into one reply. */
const MAX_OUTPUT_BYTES = 256 * 1024;
const MAX_OUTPUT_CHARS = 20_000;

const Input = z.object({
  description: z.string().default('').describe(DESCRIPTION_HINT),
  command: z
    .string()
    .min(1)
    .max(262_144)
    .describe('The command, run by bash in /mnt/user-data/workspace. Use absolute paths for files.'),
});

/**
 * Runs a command in the thread's sandbox, for at most `timeoutMs`. A failed command is a normal result that includes
 * its exit code.
 */
export function bashTool(sandbox: SandboxPort, timeoutMs = DEFAULT_TIMEOUT_MS): AnyTool {
  const limit = `${timeoutMs / 1_000} seconds`;
  return defineTool({
    name: 'bash',
    group: 'bash',
    description:
      'Run a bash command in the sandbox. Returns its output, its error output and, when it failed, its exit code. ' +
      `Long output is shortened in the middle. Standard input is empty; the time limit is ${limit}.`,
    input: Input,
    async run({ command }, context) {
      const request = {
        key: context.key,
        command,
        timeout_ms: timeoutMs,
        max_output_bytes: MAX_OUTPUT_BYTES,
        audit: context.audit,
        onOutput: (piece: OutputPiece) => void publishOutput(piece, context),
      };
      return outcomeOf(await sandbox.exec(scopeOf(context), request, context.run.signal), limit);
    },
  });
}

/** Publishes output of the command to the run's watchers; failures are ignored, as the run may have ended. */
async function publishOutput(piece: OutputPiece, { run, toolCallId }: ToolContext): Promise<void> {
  try {
    await run.emit({ kind: 'custom', data: { type: 'bash_output', tool_call_id: toolCallId, ...piece } });
  } catch (error) {
    run.logger.debug({ error }, 'output of a command could not be published');
  }
}

function outcomeOf(done: SandboxReply<'exec'>, limit: string): ToolOutcome {
  if (done.outcome === 'unknown') {
    const failed = toFailedOutcome(
      `The outcome of the command is not known (${done.reason}). It may have run completely, partly or not at all. ` +
        'Check its effects before running it again.',
    );
    return { ...failed, isUnknown: true };
  }
  const output = cutMiddle(outputText(done), MAX_OUTPUT_CHARS);
  if (done.timed_out) return toFailedOutcome(withOutput(`Command timed out after ${limit} and was stopped.`, output));
  if (done.cancelled) return toFailedOutcome(withOutput('Command was cancelled.', output));
  return { content: output === '' ? '(no output)' : output };
}

type Finished = Extract<SandboxReply<'exec'>, { outcome: 'done' }>;

function outputText({ stdout, stderr, exit_code, timed_out, cancelled, truncated_bytes }: Finished): string {
  const errors = stderr === '' ? '' : stdout === '' ? stderr : `\nStd Error:\n${stderr}`;
  const code = exit_code === 0 || timed_out || cancelled ? '' : `\nExit Code: ${exit_code}`;
  const lost = truncated_bytes === 0 ? '' : `\n(${truncated_bytes} more bytes of output were not kept)`;
  return `${stdout}${errors}${lost}${code}`;
}

const withOutput = (reason: string, output: string): string =>
  output === '' ? `${reason} It had no output.` : `${reason} Output until then:\n${output}`;
