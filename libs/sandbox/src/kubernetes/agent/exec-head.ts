import { type AgentExecHead, type AgentExecResult, type MirrorPosition } from '@caribou/contracts';
import { commandEnvironment } from '../../drivers/command-environment.js';
import type { CommandResult, SandboxCommand } from '../../drivers/driver.js';
import type { AgentClientOptions, AgentSurroundings } from './agent-client.js';

interface ExecOptions extends Pick<AgentClientOptions, 'limits' | 'ownUsers'> {
  readonly command: SandboxCommand;
  readonly surroundings: AgentSurroundings;
  readonly position: MirrorPosition;
  /** Whether the skills follow. */
  readonly changed: boolean;
}

/** What the agent is asked to do. */
export function execHead(
  id: string,
  { command, surroundings, limits, ownUsers, position, changed }: ExecOptions,
): AgentExecHead {
  const { egress, skills } = surroundings;
  return {
    id,
    command: command.command,
    timeoutMs: Math.ceil(command.timeoutMs),
    maxOutputBytes: command.maxOutputBytes,
    outputCeilingBytes: limits.outputCeilingBytes,
    maxFileBytes: command.maxFileBytes ?? limits.fileBytes,
    openFiles: limits.openFiles,
    processes: ownUsers ? limits.pids : null,
    quota: { bytes: limits.workspaceBytes, files: limits.workspaceFiles },
    environment: commandEnvironment(egress !== undefined),
    live: command.onOutput !== undefined,
    egress: egress ?? null,
    mirror: position,
    skills: skills === undefined ? null : { instance: skills.instance, changed },
  };
}

/** The result of a command, for the driver's caller. */
export function toCommandResult(result: Omit<AgentExecResult, 'mirror' | 'skills'>): CommandResult {
  const { quotaReason, ...ended } = result;
  if (quotaReason === null) return ended;
  return { ...ended, stderr: `${ended.stderr}\n[ended: ${quotaReason}. Remove files to go on.]\n` };
}

/** The result of a command that was cancelled before it began. */
export const notBegun = (): CommandResult => ({
  exitCode: 137,
  stdout: '',
  stderr: '',
  truncatedBytes: 0,
  endedBy: 'cancel',
  durationMs: 0,
});
