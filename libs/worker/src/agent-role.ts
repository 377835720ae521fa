import type { BusOptions, Wakes } from '@caribou/bus';
import type { Config } from '@caribou/config';
import type { WakeRole } from '@caribou/contracts';
import type { Logger, ModelCatalog, ModelGate, SandboxPort, SandboxRegistry, ToolJournal } from '@caribou/core';
import type { HealthCheck } from '@caribou/service';
import type { AgentLoop, DirectWorker, RunExecutor, RunExecutorPorts, RunRegistry } from '@caribou/runs';
import type { AgentTools } from './agent-tools.js';
import type { Connections } from './connections.js';

/** What every process that runs agents is built on. */
export interface WorkerBase extends Connections {
  readonly config: Config;
  readonly logger: Logger;
  readonly models: ModelCatalog;
  readonly gate: ModelGate;
  /** The sandboxes of threads, wherever their manager is. */
  readonly sandboxes: SandboxPort;
  readonly sandboxRegistry: SandboxRegistry;
}

/** Takes work from wakes and from sweeps. */
export interface RoleWorker extends DirectWorker {
  start(): void;
  /** Takes nothing new, lets what runs reach its next commit within `graceMs`, hands it over. */
  drain(graceMs: number): Promise<void>;
}

export interface RoleWorkerParts {
  readonly wakes: Wakes;
  readonly executor: RunExecutor;
  readonly registry: RunRegistry;
}

/** What is special about the runs of a role. */
export interface OpenRole {
  readonly runs: Pick<RunExecutorPorts, 'store' | 'sandbox' | 'afterCancel' | 'onMemoryQueued'> & {
    readonly sandbox: SandboxPort;
  };
  /** Of the part of the store that holds the role's threads: calls with an effect are entered under their lease. */
  readonly journal: ToolJournal;
  readonly loop: (tools: AgentTools) => AgentLoop;
  readonly worker: (parts: RoleWorkerParts) => RoleWorker;
  /** Other runs of this process that a cancel of this run may concern. */
  readonly dependentRuns?: (runId: string) => readonly string[];
  /** What must be there for a run, beside Redis and the bus. */
  readonly checks?: readonly HealthCheck[];
  /** Must succeed before the process takes work. */
  readonly prepare?: () => Promise<void>;
}

/** A kind of process that runs agents: what it takes from the bus and how its runs are built. */
export interface AgentRole {
  readonly service: 'agent-runner' | 'subagent-pool';
  readonly wakes: WakeRole;
  readonly busOptions: (config: Config) => Pick<BusOptions, 'streams' | 'checkMs'>;
  readonly open: (base: WorkerBase) => OpenRole;
}
