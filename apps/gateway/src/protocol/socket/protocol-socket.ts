import {
  type CommandParams,
  type CommandReply,
  type EventFilter,
  InvalidRequestError,
  newId,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RawData, WebSocket } from 'ws';
import { parseBoundedJson } from '../../http/json-body.js';
import type { ExceededRate } from '../../http/request-budget.js';
import { ResponseGone } from '../../runs/streams/sse-writer.js';
import type { SocketCommands } from '../commands/protocol-commands.js';
import { ProtocolRefusal, refusalReply } from '../commands/protocol-refusal.js';
import { seqOfEventId } from '../sequence.js';
import { type SubscriptionPorts, SocketSubscriptions } from './socket-subscriptions.js';
import type { SocketWriter } from './socket-writer.js';

/** Subscriptions of one socket. */
export const MAX_SUBSCRIPTIONS = 64;
/** Commands of one socket that wait for their answers; while there are as many, no more are read. */
const MAX_WAITING = 16;
/** Longest pause in reading after a command over the rate. */
const MAX_PAUSE_MS = 1_000;
/** Beats without a sign of life after which the connection counts as gone. */
const MAX_MISSED_BEATS = 3;

export interface ProtocolSocketPorts extends SubscriptionPorts {
  /** The answer to a command; never rejects. */
  execute(command: unknown, subscriptions: SocketCommands): Promise<CommandReply>;
  /** The number after which a subscription without `since` begins. @throws {UnavailableError} */
  currentPosition(): Promise<number>;
  /** Takes a token of the sender's rate for a command of this many bytes. */
  takeToken(bytes: number): ExceededRate | undefined;
  /** Namespaces of the agents of a run with their statuses. @throws {ProtocolRefusal} `no_such_run` */
  agentsOf(runId: string): Promise<readonly unknown[]>;
}

export interface ProtocolSocketOptions {
  readonly thread: ThreadKey;
  readonly socket: WebSocket;
  readonly writer: SocketWriter;
  readonly beatMs: number;
}

/**
 * The protocol on one WebSocket: commands and their answers, one after the other, and the events of subscriptions. A client that
 * sends faster than it may is read more slowly, and one that shows no life is cut off.
 */
export class ProtocolSocket {
  private readonly subscriptions: SocketSubscriptions;
  private readonly beat: NodeJS.Timeout;
  private queue: Promise<void> = Promise.resolve();
  private waiting = 0;
  private missedBeats = 0;

  constructor(
    private readonly ports: ProtocolSocketPorts,
    private readonly options: ProtocolSocketOptions,
  ) {
    const { socket, beatMs, writer } = options;
    this.subscriptions = new SocketSubscriptions(ports, writer);
    this.beat = setInterval(() => this.sendBeat(), beatMs);
    socket.on('pong', () => this.showLife());
    socket.on('message', (data: RawData, isBinary: boolean) => this.receive(data, isBinary));
    socket.on('close', () => this.close());
  }

  /** Resolves when the connection is gone. */
  closed(): Promise<void> {
    const { signal } = this.options.writer;
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  private close(): void {
    clearInterval(this.beat);
    this.subscriptions.close();
  }

  private sendBeat(): void {
    const { socket, writer } = this.options;
    this.missedBeats += 1;
    if (this.missedBeats > MAX_MISSED_BEATS) writer.cut('stalled');
    else if (socket.readyState === socket.OPEN) socket.ping();
  }

  private showLife(): void {
    this.missedBeats = 0;
  }

  private receive(data: RawData, isBinary: boolean): void {
    this.showLife();
    this.waiting += 1;
    if (this.waiting >= MAX_WAITING) this.options.socket.pause();
    this.queue = this.queue.then(() => this.answer(data, isBinary)).then(() => this.readOn());
  }

  private readOn(): void {
    this.waiting -= 1;
    if (this.waiting < MAX_WAITING) this.options.socket.resume();
  }

  /** Never rejects. */
  private async answer(data: RawData, isBinary: boolean): Promise<void> {
    const { writer } = this.options;
    try {
      if (writer.signal.aborted) return;
      await writer.write(JSON.stringify(await this.replyTo(data, isBinary)));
    } catch (error) {
      if (error instanceof ResponseGone) return;
      this.ports.onBreak(error);
      writer.cut('shutdown');
    }
  }

  private async replyTo(data: RawData, isBinary: boolean): Promise<CommandReply> {
    const bytes = toBytes(data);
    const exceeded = this.ports.takeToken(bytes.byteLength);
    if (exceeded !== undefined) return await this.refuseLater(exceeded, bytes);
    try {
      if (isBinary) throw new InvalidRequestError('message: must be text');
      return await this.ports.execute(parseBoundedJson(bytes), this.handlers);
    } catch (error) {
      const reply = refusalReply(null, error);
      if (reply === undefined) throw error;
      return reply;
    }
  }

  /** The answer to a command over the rate, after a pause in which nothing more is read. */
  private async refuseLater({ error, waitMs }: ExceededRate, bytes: Uint8Array): Promise<CommandReply> {
    const { socket } = this.options;
    socket.pause();
    await sleep(Math.min(waitMs, MAX_PAUSE_MS));
    return { type: 'error', id: idIn(bytes), error: 'unknown_error', message: error.message };
  }

  private readonly handlers: SocketCommands = {
    'subscription.subscribe': async (filter) => ({ subscription_id: await this.subscribe(filter) }),
    'subscription.unsubscribe': ({ subscription_id: id }) => {
      if (!this.subscriptions.remove(id))
        throw new ProtocolRefusal('no_such_subscription', `there is no subscription ${id.slice(0, 100)}`);
      return {};
    },
    'subscription.reconnect': (params) => this.reconnect(params),
  };

  /** Begins the named subscriptions of this connection again after an event; those of an earlier connection are not known. */
  private async reconnect(params: CommandParams<'subscription.reconnect'>): Promise<Readonly<Record<string, unknown>>> {
    const { run_id: runId, last_event_id: lastEventId, subscriptions } = params;
    const agents = await this.ports.agentsOf(runId);
    const since = seqOfEventId(lastEventId ?? undefined);
    const ids = subscriptions ?? this.subscriptions.ids;
    const restored = since !== undefined && ids.length > 0 && ids.every((id) => this.subscriptions.has(id));
    if (restored) this.subscriptions.rewind(ids, since);
    return { restored, current_namespaces: agents };
  }

  /** @throws {ProtocolRefusal} above the limit */
  private async subscribe(filter: EventFilter): Promise<string> {
    if (this.subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new ProtocolRefusal(
        'invalid_argument',
        `subscriptions: the connection has ${MAX_SUBSCRIPTIONS}, which is the limit; unsubscribe from one first`,
      );
    const id = newId();
    this.subscriptions.add([[id, filter, filter.since ?? (await this.ports.currentPosition())]]);
    return id;
  }
}

function toBytes(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

/** The id of a command that is not carried out, as far as it can be seen in its first characters. */
function idIn(bytes: Uint8Array): number | null {
  const start = Buffer.from(bytes.subarray(0, 200)).toString('utf8');
  const id = /^\s*\{\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(start)?.[1];
  return id === undefined ? null : Number(id);
}
