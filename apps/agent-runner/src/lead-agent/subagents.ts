import { subagentDefinitions, taskLimits } from '@caribou/agent';
import type { Bus } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { type ModelCatalog, type SubagentPort, systemClock } from '@caribou/core';
import { type AfterCancel, endTasksOf, SubagentTasks } from '@caribou/runs';
import { type RedisConnection, redisEventLog, redisTaskStore, taskPart } from '@caribou/state';

export interface SubagentParts {
  readonly redis: RedisConnection;
  readonly bus: Bus;
  readonly models: ModelCatalog;
  readonly config: Pick<Config, 'chain' | 'clocks'>;
}

/** Subagents as the lead agent has them: the way to hand a task over, and the end of those of a cancelled run. */
export interface Subagents {
  readonly port: SubagentPort;
  readonly endTasks: AfterCancel;
}

/** Tasks over the store and the bus; whichever subagent-pool has room works on them. */
export function connectSubagents({ redis, bus, models, config }: SubagentParts): Subagents {
  const { subagents } = config.chain;
  const definitions = subagentDefinitions(subagents);
  const tasks = taskPart(redis);
  const ports = {
    store: redisTaskStore(tasks, taskLimits(subagents)),
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
      return { model: models.get(model === 'inherit' ? parentModel : model).name, maxTurns, timeoutMs };
    },
  });
  return { port, endTasks: (run) => endTasksOf({ ...ports, log: taskLog }, run) };
}
