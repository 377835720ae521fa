import type { AgentEgress, AgentHealth } from '@caribou/contracts';
import type { Clock, CopyMirror, CopyMirrors, SkillsMount } from '@caribou/core';
import type { CommandResult, SandboxCommand } from '../../drivers/driver.js';
import type { SandboxLimits } from '../../drivers/settings.js';

/** Where an agent listens. */
export interface AgentEndpoint {
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

export interface AgentClientOptions {
  readonly endpoint: AgentEndpoint;
  /** The manager's copy of the thread's files, which the client closes. */
  readonly mirror: CopyMirror;
  readonly skills: Pick<CopyMirrors, 'skills'>;
  readonly clock: Clock;
  readonly limits: Pick<
    SandboxLimits,
    'openFiles' | 'fileBytes' | 'outputCeilingBytes' | 'pids' | 'workspaceBytes' | 'workspaceFiles'
  >;
  /** Whether the pod has a user namespace of its own, so that the limit of processes counts this sandbox alone. */
  readonly ownUsers: boolean;
}

/** What a command finds besides files. */
export interface AgentSurroundings {
  readonly egress: AgentEgress | undefined;
  readonly skills: SkillsMount | undefined;
}

/** The connection of a manager to the agent of one pod. */
export interface AgentClient {
  /** @throws {UnavailableError} when the agent does not answer within 5 s or refuses the token */
  health(signal?: AbortSignal): Promise<AgentHealth>;
  /**
   * Extends the agent's lease to so many milliseconds from now (600,000 at most). The agent ends what runs when it lapses.
   *
   * @throws {UnavailableError}
   */
  hold(leaseMs: number): Promise<void>;
  /**
   * Sends what changed in the copy, runs the command, and brings what it changed into the copy before it resolves. Semantics and errors
   * are those of SandboxDriver.exec. Files of an earlier exchange that broke off are exchanged first.
   *
   * @throws {SandboxGoneError} when the agent does not answer, and the command certainly did not start
   * @throws {UnavailableError} when the connection broke off or the files could not be exchanged: the command may have run
   */
  exec(command: SandboxCommand, surroundings: AgentSurroundings, signal: AbortSignal): Promise<CommandResult>;
  /** Brings changes that no exchange has brought yet into the copy, as after a connection that broke off. @throws {UnavailableError} */
  pull(): Promise<void>;
  /** Ends whatever runs; whether something did. @throws {UnavailableError} */
  kill(): Promise<boolean>;
  /** Closes connections and the mirror. The agent ends what still runs. Idempotent. */
  close(): Promise<void>;
}
