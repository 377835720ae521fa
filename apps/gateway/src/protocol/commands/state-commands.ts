import {
  CheckpointId,
  type CheckpointView,
  type CommandParams,
  InvalidRequestError,
  isTerminal,
  NotFoundError,
  type RunRecord,
  type RunStatus,
  toClientState,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { taskSpecOf } from '@caribou/runs';
import type { TaskStore, ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { subagentNamespace } from '../projected-event.js';
import type { AgentStatus } from '../projections/lifecycle.js';
import { MAX_REPLAYED_RUNS, startPosition } from '../thread-position.js';
import { ProtocolRefusal } from './protocol-refusal.js';

const DEFAULT_CHECKPOINTS = 10;

interface AgentNode {
  readonly namespace: readonly string[];
  readonly status: AgentStatus;
  readonly graph_name: string;
  readonly children?: readonly AgentNode[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Commands that read a thread. */
@Injectable()
export class StateCommands {
  constructor(
    @Dependency('threadStore')
    private readonly store: Pick<ThreadStore, 'head' | 'history' | 'newestRuns' | 'getRun'>,
    @Dependency('taskStore') private readonly tasks: Pick<TaskStore, 'tasksOf' | 'head'>,
  ) {}

  async get(thread: ThreadKey, { namespace, keys }: CommandParams<'state.get'>) {
    const view = await this.readState(thread, namespace);
    if (view === null) return { values: {} };
    const values: Record<string, unknown> = { ...toClientState(view.state) };
    const wanted = keys ?? Object.keys(values);
    const shown = Object.fromEntries(wanted.filter((key) => key in values).map((key) => [key, values[key]]));
    return { values: shown, checkpoint: { id: view.checkpointId } };
  }

  async listCheckpoints(thread: ThreadKey, params: CommandParams<'state.listCheckpoints'>) {
    const { namespace, limit, before } = params;
    if ((namespace ?? []).length > 0) throw noNamespace(namespace ?? []);
    if (before !== undefined && before !== null && !CheckpointId.safeParse(before).success)
      throw new InvalidRequestError('before: must be a checkpoint id');
    const views = await this.store.history(thread, {
      limit: limit ?? DEFAULT_CHECKPOINTS,
      ...(before === undefined || before === null ? {} : { before }),
    });
    return { checkpoints: views.map(summaryOf) };
  }

  async getTree(thread: ThreadKey, { run_id: runId }: CommandParams<'agent.getTree'>): Promise<{ tree: AgentNode }> {
    const run = await this.readRun(thread, runId ?? (await this.currentRunId(thread)));
    const children = (await this.tasks.tasksOf(thread)).flatMap((task) => childOf(task, run.run_id));
    const root = { namespace: [], status: statusOf(run.status), graph_name: run.assistant_id };
    return { tree: { ...root, children, metadata: { run_id: run.run_id } } };
  }

  /** The agents of a run with their statuses. @throws {ProtocolRefusal} `no_such_run` */
  async listAgents(thread: ThreadKey, runId: string): Promise<readonly Pick<AgentNode, 'namespace' | 'status'>[]> {
    const { tree } = await this.getTree(thread, { run_id: runId });
    return [tree, ...(tree.children ?? [])].map(({ namespace, status }) => ({ namespace, status }));
  }

  private async readState(thread: ThreadKey, namespace: readonly string[]): Promise<CheckpointView | null> {
    if (namespace.length === 0) return await this.store.head(thread);
    const tasks = await this.tasks.tasksOf(thread);
    const task = tasks.find((run) => {
      const spec = taskSpecOf(run);
      return spec !== undefined && isSame(subagentNamespace(spec.parent.tool_call_id), namespace);
    });
    if (task === undefined) throw noNamespace(namespace);
    return await this.tasks.head(task);
  }

  private async currentRunId(thread: ThreadKey): Promise<string> {
    const runs = await this.store.newestRuns(thread, MAX_REPLAYED_RUNS);
    const { done } = startPosition(runs, undefined);
    const current = runs.find(({ ordinal }) => ordinal === done + 1);
    if (current === undefined) throw new ProtocolRefusal('no_such_run', 'the thread has no run yet');
    return current.runId;
  }

  private async readRun(thread: ThreadKey, runId: string): Promise<RunRecord> {
    try {
      return await this.store.getRun(thread, runId);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw new ProtocolRefusal('no_such_run', `Run ${runId.slice(0, 100)} does not exist`);
    }
  }
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((segment, index) => segment === other[index]);

const noNamespace = (namespace: readonly string[]): ProtocolRefusal =>
  new ProtocolRefusal('no_such_namespace', `there is no agent at ${JSON.stringify(namespace).slice(0, 200)}`);

function summaryOf({ checkpointId, createdAt, metadata, next }: CheckpointView) {
  const { step, source, run_id } = metadata;
  return { id: checkpointId, timestamp: createdAt, step, metadata: { source, run_id, next: [...next] } };
}

/** A subagent of the run; none for one of another run. */
function childOf(task: RunRecord, runId: string): AgentNode[] {
  const spec = taskSpecOf(task);
  if (spec === undefined || spec.parent.run_id !== runId) return [];
  const { tool_call_id, run_id } = spec.parent;
  const metadata = { tool_call_id, run_id, description: spec.description };
  const namespace = subagentNamespace(tool_call_id);
  return [{ namespace, status: statusOf(task.status), graph_name: spec.subagent_type, metadata }];
}

/** The status of an agent by that of its run. */
export function statusOf(status: RunStatus): AgentStatus {
  if (!isTerminal(status)) return status === 'pending' ? 'started' : 'running';
  if (status === 'success') return 'completed';
  return status === 'interrupted' ? 'interrupted' : 'failed';
}
