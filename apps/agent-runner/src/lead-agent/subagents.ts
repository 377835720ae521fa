import { subagentDefinitions, taskLimits } from '@caribou/agent';
import type { Bus } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import { type ModelCatalog, type SubagentPort, systemClock } from '@caribou/core';
import { type AfterCancel, endTasksOf, forgetWaitingTasks, type RunPorts, SubagentTasks } from '@caribou/runs';
import { type RedisConnection, redisEventLog, redisTaskStore, taskPart, type TraceSettings } from '@caribou/state';

export interface SubagentParts {
  readonly redis: RedisConnection;
  readonly bus: Bus;
  readonly models: ModelCatalog;
  readonly config: Pick<Config, 'chain' | 'clocks'>;
  /** How traces of runs are written; absent when none are stored. */
  readonly trace?: TraceSettings;
}

/** What the lead agent needs of subagents: the port that delegates tasks, and ending the tasks of a cancelled run. */
export interface Subagents {
  readonly port: SubagentPort;
  readonly endTasks: AfterCancel;
  /** Deletes tasks that wait for answers which nobody can give any more. */
  readonly forgetWaiting: NonNullable<RunPorts['beforeWithdrawal']>;
}

/**
 * Creates the port that delegates tasks over the store and the bus; any subagent-pool with a free slot executes them.
 */
export function connectSubagents({ redis, bus, models, config, trace }: SubagentParts): Subagents {
  const { subagents } = config.chain;
  const definitions = subagentDefinitions(subagents);
  const tasks = taskPart(redis);
  const ports = {
    store: redisTaskStore(tasks, { ...taskLimits(subagents), ...omitUndefined({ trace }) }),
    parentLog: redisEventLog(redis),
    bus,
    clock: systemClock,
    maxQueueMs: 1_000 * subagents.max_queue_seconds,
    checkMs: config.clocks.heartbeatMs,
  };
  const taskLog = redisEventLog(tasks);
  const port = new SubagentTasks({
    ...ports,
    taskLog,
    types: [...definitions.values()].map(({ name, description }) => ({ name, description })),
    wakes: bus.wakes('subagents'),
    termsOf: (type, parentModel) => {
      const definition = definitions.get(type);
      if (definition === undefined) return undefined;
      const { model, maxTurns, timeoutMs } = definition;
      const hasOwnModel = model !== 'inherit';
      return { model: models.get(hasOwnModel ? model : parentModel).name, hasOwnModel, maxTurns, timeoutMs };
    },
  });
  return {
    port,
    endTasks: (run) => endTasksOf({ ...ports, log: taskLog }, run),
    forgetWaiting: (withdrawn) => forgetWaitingTasks(ports, withdrawn),
  };
}
