import { protocolRoutes, type RouteInput } from '@caribou/contracts';
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { lastEventId, startHeaders } from '../runs/start-headers.js';
import { ProtocolCommands } from './commands/protocol-commands.js';
import { filterOfQuery, ProtocolStreams } from './protocol-streams.js';
import { ProtocolSockets } from './socket/protocol-sockets.js';
import { isUpgrade } from './socket/upgrades.js';

type Of<Name extends keyof typeof protocolRoutes> = RouteInput<(typeof protocolRoutes)[Name]>;

const keyOf = (caller: Principal, { params }: { readonly params: { readonly thread_id: string } }) => ({
  userId: caller.userId,
  threadId: params.thread_id,
});

/** The Agent Streaming Protocol over HTTP and WebSocket. */
@Controller(API_ROOTS)
export class ProtocolController {
  constructor(
    private readonly commandsOf: ProtocolCommands,
    private readonly streams: ProtocolStreams,
    private readonly sockets: ProtocolSockets,
  ) {}

  @Route(protocolRoutes.commands)
  commands(
    @Caller() caller: Principal,
    @Input() input: Of<'commands'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.commandsOf.executeHttp(keyOf(caller, input), input.body, startHeaders(request, reply));
  }

  @Route(protocolRoutes.events)
  async events(@Caller() caller: Principal, @Input() input: Of<'events'>, @Res() reply: FastifyReply) {
    await this.streams.send(keyOf(caller, input), input.body, reply);
  }

  @Route(protocolRoutes.joinEvents)
  async joinEvents(
    @Caller() caller: Principal,
    @Input() input: Of<'joinEvents'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const thread = keyOf(caller, input);
    if (isUpgrade(request)) await this.sockets.open(thread, request, reply);
    else await this.streams.send(thread, filterOfQuery(input.query, lastEventId(request)), reply);
  }
}
