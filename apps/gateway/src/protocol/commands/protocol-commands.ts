import {
  CommandEnvelope,
  type CommandMethod,
  commandParams,
  type CommandParams,
  type CommandReply,
  type RunRecord,
} from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { parse } from '../../http/parse-input.js';
import type { StartHeaders } from '../../runs/started-run.js';
import { seqBefore } from '../sequence.js';
import { internalReply, isPassing, ProtocolRefusal, refusalReply } from './protocol-refusal.js';
import { RunCommands } from './run-commands.js';
import { StateCommands } from './state-commands.js';

type SocketMethod = Extract<CommandMethod, `subscription.${string}`>;
/** A command on a thread, which any connection may send. */
type ThreadMethod = Exclude<CommandMethod, SocketMethod>;

export interface CommandContext {
  readonly thread: ThreadKey;
  readonly headers: StartHeaders;
}

interface Done {
  readonly result: Readonly<Record<string, unknown>>;
  readonly meta?: { readonly applied_through_seq: number };
}

type Handlers<Method extends CommandMethod, Result> = {
  readonly [Name in Method]: (params: CommandParams<Name>) => Promise<Result> | Result;
};

/** The commands that only a socket carries out, by method. */
export type SocketCommands = Handlers<SocketMethod, Done['result']>;

/** Carries out the commands of the Agent Streaming Protocol. */
@Injectable()
export class ProtocolCommands {
  constructor(
    @Dependency('logger') private readonly logger: Logger,
    private readonly runs: RunCommands,
    private readonly states: StateCommands,
  ) {}

  /**
   * The answer to a command that was sent by HTTP.
   *
   * @throws {AppError} with status 429 or 503 where the client may send the same again
   */
  executeHttp(thread: ThreadKey, command: unknown, headers: StartHeaders): Promise<CommandReply> {
    return this.execute({ thread, headers }, command, { throwPassing: true });
  }

  /** The answer to a command that was sent on a socket; never rejects. */
  executeOnSocket(context: CommandContext, command: unknown, subscriptions: SocketCommands): Promise<CommandReply> {
    return this.execute(context, command, { throwPassing: false, subscriptions });
  }

  private async execute(
    context: CommandContext,
    command: unknown,
    how: { readonly throwPassing: boolean; readonly subscriptions?: SocketCommands },
  ): Promise<CommandReply> {
    const id = idOf(command);
    try {
      const envelope = parse(CommandEnvelope, command, 'command');
      return { type: 'success', id: envelope.id, ...(await this.dispatch(context, envelope, how.subscriptions)) };
    } catch (error) {
      if (how.throwPassing && isPassing(error)) throw error;
      const reply = refusalReply(id, error);
      if (reply !== undefined) return reply;
      const { threadId } = context.thread;
      this.logger.error({ event: 'protocol.command', threadId, error }, 'a command of the protocol failed');
      return internalReply(id);
    }
  }

  private async dispatch(
    { thread, headers }: CommandContext,
    { method, params }: CommandEnvelope,
    subscriptions: SocketCommands | undefined,
  ): Promise<Done> {
    if (!isMethod(method)) throw new ProtocolRefusal('unknown_command', `method: there is no command ${method}`);
    const given = params ?? {};
    if (!isThreadMethod(method)) {
      if (subscriptions === undefined)
        throw new ProtocolRefusal(
          'not_supported',
          `${method}: subscriptions exist on WebSockets only; open /stream/events`,
        );
      return { result: await call(subscriptions, method, given) };
    }
    return await call(this.handlers(thread, headers), method, given);
  }

  private handlers(thread: ThreadKey, headers: StartHeaders): Handlers<ThreadMethod, Done> {
    const { runs, states } = this;
    return {
      'run.start': async (params) => started(await runs.start(thread, params, headers)),
      'state.fork': async (params) => {
        const run = await runs.fork(thread, params, headers);
        return { ...started(run), result: { run_id: run.run_id, thread_id: run.thread_id } };
      },
      'input.respond': async (params) => started(await runs.respond(thread, params, headers), {}),
      'input.inject': async (params) => {
        await runs.inject(thread, params, headers);
        return { result: {} };
      },
      'state.get': async (params) => ({ result: await states.get(thread, params) }),
      'state.listCheckpoints': async (params) => ({ result: await states.listCheckpoints(thread, params) }),
      'agent.getTree': async (params) => ({ result: { ...(await states.getTree(thread, params)) } }),
    };
  }
}

/** The answer for a run that was started, with the last number before its events. */
const started = (
  run: Pick<RunRecord, 'run_id' | 'ordinal'>,
  result: Done['result'] = { run_id: run.run_id },
): Done => ({
  result,
  meta: { applied_through_seq: seqBefore(run.ordinal) },
});

const isMethod = (method: string): method is CommandMethod => Object.hasOwn(commandParams, method);
const isThreadMethod = (method: CommandMethod): method is ThreadMethod => !method.startsWith('subscription.');

/** Parses the parameters of a command and calls its handler. @throws {InvalidRequestError} naming field and limit */
function call<Method extends CommandMethod, Result>(
  handlers: Handlers<Method, Result>,
  method: Method,
  params: Readonly<Record<string, unknown>>,
): Promise<Result> | Result {
  const parsed = parse(commandParams[method], params, 'params') as CommandParams<Method>;
  return handlers[method](parsed);
}

/** The id that the answer repeats; null when the command has none. */
function idOf(command: unknown): number | null {
  const id = typeof command === 'object' && command !== null && 'id' in command ? command.id : undefined;
  return typeof id === 'number' && Number.isSafeInteger(id) && id >= 0 ? id : null;
}
