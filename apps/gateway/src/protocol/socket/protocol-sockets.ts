import type { Logger, ThreadKey } from '@caribou/core';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { BugError } from '@caribou/contracts';
import { Dependency } from '../../dependency.js';
import { takeForCommand } from '../../http/request-budget.js';
import { startHeaders } from '../../runs/start-headers.js';
import { OpenStreams } from '../../runs/streams/open-streams.js';
import { STALL_MS } from '../../runs/streams/long-answers.js';
import type { GatewaySettings } from '../../settings.js';
import { ProtocolCommands } from '../commands/protocol-commands.js';
import { StateCommands } from '../commands/state-commands.js';
import { ProtocolStreams } from '../protocol-streams.js';
import { ProtocolSocket, type ProtocolSocketPorts } from './protocol-socket.js';
import { SocketWriter } from './socket-writer.js';
import { type Upgrade, upgradeOf } from './upgrades.js';

/** Opens the protocol's WebSockets. */
@Injectable()
export class ProtocolSockets {
  private readonly server: WebSocketServer;

  constructor(
    @Dependency('settings') private readonly settings: GatewaySettings,
    @Dependency('logger') private readonly logger: Logger,
    private readonly streams: ProtocolStreams,
    private readonly commands: ProtocolCommands,
    private readonly states: StateCommands,
    private readonly openStreams: OpenStreams,
  ) {
    const maxPayload = settings.bodyLimitBytes;
    this.server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload });
  }

  /**
   * Opens a socket on a thread and resolves when it is closed.
   *
   * @throws {QuotaError} when the user has too many streams open; the request is then answered as HTTP
   */
  async open(thread: ThreadKey, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const upgrade = upgradeOf(request);
    if (upgrade === undefined) throw new BugError('a socket is opened for a request that does not ask for one');
    const { registry, slowReaders } = this.openStreams;
    const release = registry.take(thread.userId);
    try {
      reply.hijack();
      const socket = await this.shakeHands(request, upgrade);
      if (socket === null) return;
      const writer = new SocketWriter(socket, { stallMs: STALL_MS, slowReaders });
      const remove = registry.add(writer);
      try {
        const ports = this.portsOf(thread, request, reply);
        await new ProtocolSocket(ports, { thread, socket, writer, beatMs: this.settings.heartbeatMs }).closed();
      } finally {
        remove();
      }
    } finally {
      release();
    }
  }

  /** The socket; null when the client has left, or its handshake is not valid, which the library answers. */
  private shakeHands({ raw }: FastifyRequest, { socket, head }: Upgrade): Promise<WebSocket | null> {
    return new Promise((resolve) => {
      if (socket.destroyed) resolve(null);
      socket.once('close', () => resolve(null));
      this.server.handleUpgrade(raw, socket, head, resolve);
    });
  }

  private portsOf(thread: ThreadKey, request: FastifyRequest, reply: FastifyReply): ProtocolSocketPorts {
    const { streams, commands, states, logger } = this;
    const { threadId } = thread;
    return {
      execute: (command, subscriptions) => {
        const headers = { ...startHeaders(request, reply), idempotencyKey: undefined, rawBody: command };
        return commands.executeOnSocket({ thread, headers }, command, subscriptions);
      },
      currentPosition: () => streams.currentPosition(thread),
      follow: (since, sink) => streams.follow(thread, since, sink),
      takeToken: (bytes) => takeForCommand(request, bytes),
      agentsOf: async (runId) => await states.listAgents(thread, runId),
      onBreak: (error) => logger.error({ event: 'stream.broke', threadId, error }, 'a socket broke'),
    };
  }
}
