import { DEFAULT_COMMAND_RULES } from '@caribou/contracts';
import type { AgentMiddleware, SandboxPort, ToolOutcome } from '@caribou/core';
import { auditCommand, type AuditedCommand, type CommandPolicy } from './command-audit.js';

const DEFAULT_POLICY: CommandPolicy = { maxChars: 10_000, rules: DEFAULT_COMMAND_RULES };

/** Maximum characters of a command in a log line. */
const MAX_LOGGED_CHARS = 200;

/**
 * Checks each shell command against the rules before it runs. A blocked command is answered here and never executed;
 * otherwise the verdict is passed on for the sandbox's audit; with `ask`, the layer `approval-request` has a person decide first. The security boundary is the sandbox, not these rules.
 */
export function sandboxAudit(sandbox: SandboxPort, policy: CommandPolicy = DEFAULT_POLICY): AgentMiddleware {
  return {
    name: 'sandbox-audit',
    async wrapToolCall(request, next, run) {
      const { name, args, id } = request.call;
      const command = name === 'bash' ? args['command'] : undefined;
      if (typeof command !== 'string') return next(request);
      const audited = auditCommand(command, policy);
      const { verdict, rules } = audited;
      if (verdict === 'pass') return next({ ...request, audit: { verdict, rules } });
      run.logger.warn(
        { event: 'command.audit', verdict, rules, command: command.slice(0, MAX_LOGGED_CHARS) },
        `a shell command matched the rules: ${verdict}`,
      );
      if (verdict === 'ask')
        return next({ ...request, audit: { verdict, rules }, approvalReason: audited.reasons.join('; ') });
      if (verdict === 'warn') return withWarning(await next({ ...request, audit: { verdict, rules } }), audited);
      const scope = { userId: run.userId, threadId: run.threadId, epoch: run.epoch };
      await sandbox.blocked(scope, { key: `${run.runId}:${id}`, command, rules }, run.signal);
      return toBlockedOutcome(audited);
    },
  };
}

const toBlockedOutcome = ({ reasons }: AuditedCommand): ToolOutcome => ({
  content: `Command blocked: ${reasons[0] ?? 'refused by a rule'}. Please use a safer alternative approach.`,
  isError: true,
});

function withWarning(outcome: ToolOutcome, { reasons }: AuditedCommand): ToolOutcome {
  const note = `\n\nWarning: this was a medium-risk command (${reasons.join('; ')}).`;
  const { content } = outcome;
  return {
    ...outcome,
    content: typeof content === 'string' ? content + note : [...content, { type: 'text', text: note.trim() }],
  };
}
