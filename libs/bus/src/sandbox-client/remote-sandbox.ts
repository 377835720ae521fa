import {
  AppError,
  managerSubject,
  MAX_BLOCKED_CHARS,
  SandboxBlocked,
  SandboxCancel,
  SandboxRelease,
} from '@caribou/contracts';
import {
  type Clock,
  type ExecutionJournal,
  type Logger,
  type SandboxPort,
  type SandboxRegistry,
  type SandboxScope,
  systemClock,
} from '@caribou/core';
import type { Bus } from '../connection/bus.js';
import { CommandsInFlight, type KeyedJob } from './commands-in-flight.js';
import { ExecutionOutcomes } from './execution-outcomes.js';
import { type HeldSandbox, ManagerCalls, scopeFields } from './manager-calls.js';
import { remoteOperations } from './sandbox-operations.js';

export interface RemoteSandboxOptions {
  readonly bus: Pick<Bus, 'call' | 'connected' | 'subscribeOutput'>;
  readonly registry: Pick<SandboxRegistry, 'isManagerAlive' | 'binding'>;
  /** The journal of executions, which is read when a manager does not answer. */
  readonly journal: Pick<ExecutionJournal, 'find' | 'withdraw'>;
  readonly logger: Logger;
  /** Milliseconds between two checks of the manager's lease by a waiting call; default 2 s. */
  readonly lookMs?: number;
  /** Timeout of one request for a sandbox, in milliseconds; default 5,000. */
  readonly acquireMs?: number;
  /** Milliseconds after which a call is concluded for which nobody could be reached; default 20,000. */
  readonly awayMs?: number;
  readonly clock?: Clock;
}

const CANCEL_TIMEOUT_MS = 3_000;
const RELEASE_TIMEOUT_MS = 5_000;

/**
 * Creates the client of sandboxes behind sandbox-managers, over RPC. A call survives lost replies, connections and
 * managers: its key makes it safe to repeat, and a call that a lost manager had started is answered with `unknown`.
 */
export function createRemoteSandbox(options: RemoteSandboxOptions): SandboxPort {
  const { bus, registry, journal, logger, clock = systemClock } = options;
  const { lookMs = 2_000, acquireMs = 5_000, awayMs = 20_000 } = options;
  const isManagerAlive = (managerId: string): Promise<boolean> => registry.isManagerAlive(managerId);
  const outcomes = new ExecutionOutcomes({ journal, isManagerAlive, isConnected: () => bus.connected, logger });
  const calls = new ManagerCalls({ bus, isManagerAlive, logger, clock, lookMs, acquireMs, awayMs, outcomes });
  const operations = remoteOperations(calls);
  const commands = new CommandsInFlight((job) => cancelCommand({ bus, logger, calls }, job));
  return {
    ...operations,
    exec: async (scope, { onOutput, ...request }, signal) => {
      const { key } = request;
      const stop = onOutput === undefined ? undefined : bus.subscribeOutput({ ...scope, key }, onOutput);
      return commands.follow({ scope, key, signal }, operations.exec(scope, request, signal).finally(stop));
    },
    cancel: async (scope, key, signal) => {
      const bound = calls.findHeldSandbox(scope) ?? (await registry.binding(scope));
      if (bound !== null && bound.managerId !== '') await cancelAt(bus, bound, { scope, key, signal });
    },
    blocked: (scope, request, signal) => recordBlocked({ bus, logger, calls }, { scope, ...request, signal }),
    binding: (scope) => {
      const sandbox = calls.findHeldSandbox(scope);
      return sandbox === undefined ? undefined : { sandbox_id: sandbox.sandboxId, driver: sandbox.driver };
    },
    release: async (scope) => {
      await commands.waitForEndingCommands(scope);
      await release({ bus, logger, calls }, scope);
    },
  };
}

interface Parts {
  readonly bus: Pick<Bus, 'call'>;
  readonly logger: Logger;
  readonly calls: ManagerCalls;
}

/** Ends the command of a cancelled run; if the manager cannot be reached, the command ends by its own time limit. */
async function cancelCommand({ bus, logger, calls }: Parts, { scope, key }: KeyedJob): Promise<void> {
  const sandbox = calls.findHeldSandbox(scope);
  if (sandbox === undefined) return;
  try {
    await cancelAt(bus, sandbox, { scope, key, signal: new AbortController().signal });
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    logger.warn({ error: cause, threadId: scope.threadId }, 'a running command could not be cancelled');
  }
}

type Bound = Pick<HeldSandbox, 'managerId' | 'sandboxId'>;

async function cancelAt(bus: Pick<Bus, 'call'>, { managerId, sandboxId }: Bound, job: KeyedJob): Promise<void> {
  const { scope, key, signal } = job;
  const subject = managerSubject(managerId, SandboxCancel);
  const payload = { ...scopeFields(scope), sandbox_id: sandboxId, key };
  await bus.call({ contract: SandboxCancel, subject }, payload, { timeoutMs: CANCEL_TIMEOUT_MS, signal });
}

interface BlockedCommand extends KeyedJob {
  readonly command: string;
  readonly rules: readonly string[];
}

/** The block applies even if it cannot be recorded; it is then in the log of this process. */
async function recordBlocked(
  { bus, logger }: Parts,
  { scope, key, command, rules, signal }: BlockedCommand,
): Promise<void> {
  const audit = { verdict: 'block' as const, rules: [...rules] };
  const payload = { ...scopeFields(scope), key, command: command.slice(0, MAX_BLOCKED_CHARS), audit };
  try {
    await bus.call({ contract: SandboxBlocked }, payload, { signal });
  } catch (cause) {
    if (signal.aborted || !(cause instanceof AppError)) throw cause;
    logger.error(
      { error: cause, event: 'audit.lost', auditLines: [payload] },
      'a blocked command could not be recorded',
    );
  }
}

async function release({ bus, logger, calls }: Parts, scope: SandboxScope): Promise<void> {
  const sandbox = calls.findHeldSandbox(scope);
  if (sandbox === undefined) return;
  calls.forget(scope);
  const subject = managerSubject(sandbox.managerId, SandboxRelease);
  const payload = { ...scopeFields(scope), sandbox_id: sandbox.sandboxId };
  try {
    await bus.call({ contract: SandboxRelease, subject }, payload, { timeoutMs: RELEASE_TIMEOUT_MS });
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    logger.debug(
      { error: cause, threadId: scope.threadId },
      'a sandbox could not be released, it will be reaped when idle',
    );
  }
}
