import type { BusOptions, Wakes } from '@caribou/bus';
import type { Config } from '@caribou/config';
import type { WakeRole } from '@caribou/contracts';
import type { Logger, ModelCatalog, ModelGate, SandboxPort, SandboxRegistry, ToolJournal } from '@caribou/core';
import type { ProcessOwner, ProcessRegistry, TraceSettings } from '@caribou/state';
import type { HealthCheck } from '@caribou/service';
import type { AgentLoop, DirectWorker, RunExecutor, RunExecutorPorts, RunRegistry } from '@caribou/runs';
import type { AgentTools } from './agent-tools.js';
import type { Connections } from './connections.js';

/** The connections and services that every process that runs agents has. */
export interface WorkerBase extends Connections {
  readonly config: Config;
  readonly logger: Logger;
  readonly models: ModelCatalog;
  readonly gate: ModelGate;
  /** The sandboxes of threads, wherever their manager runs. */
  readonly sandboxes: SandboxPort;
  readonly sandboxRegistry: SandboxRegistry;
  /** This process, as the owner of what it claims. */
  readonly process: ProcessOwner;
  /** How traces of runs are written; absent when none are stored. */
  readonly trace?: TraceSettings;
}

/** Receives work from wakes and from sweeps. */
export interface RoleWorker extends DirectWorker {
  start(): void;
  /** Accepts no new work, waits up to `graceMs` for running work to reach its next commit, and hands it over. */
  drain(graceMs: number): Promise<void>;
}

export interface RoleWorkerParts {
  readonly wakes: Wakes;
  readonly executor: RunExecutor;
  readonly registry: RunRegistry;
}

/** The parts of a run's execution that differ between roles. */
export interface OpenRole {
  readonly runs: Pick<
    RunExecutorPorts,
    'store' | 'sandbox' | 'afterCancel' | 'beforeWithdrawal' | 'settleFiles' | 'onMemoryQueued'
  > & {
    readonly sandbox: SandboxPort;
  };
  /**
   * The journal of the part of the store that holds the role's threads; calls with side effects are entered under their
   * lease.
   */
  readonly journal: ToolJournal;
  /** The leases of the processes that share the role's threads. */
  readonly processes: ProcessRegistry;
  readonly loop: (tools: AgentTools) => AgentLoop;
  readonly worker: (parts: RoleWorkerParts) => RoleWorker;
  /** How many runs or tasks the worker executes at once. */
  readonly slots: { readonly kind: 'runs' | 'tasks'; readonly limit: number };
  /** Returns the ids of this process's runs that depend on a cancelled run. */
  readonly dependentRuns?: (runId: string) => readonly string[];
  /** Further dependencies that a run needs, besides Redis and the bus. */
  readonly checks?: readonly HealthCheck[];
  /** Checks that must succeed before the process accepts work. */
  readonly prepare?: () => Promise<void>;
}

/** A kind of process that runs agents: the work that it receives from the bus, and how its runs are assembled. */
export interface AgentRole {
  readonly service: 'agent-runner' | 'subagent-pool';
  readonly wakes: WakeRole;
  readonly busOptions: (config: Config) => Pick<BusOptions, 'streams' | 'checkMs'>;
  readonly open: (base: WorkerBase) => OpenRole;
}
