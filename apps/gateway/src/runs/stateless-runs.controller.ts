import { Controller, Req, Res } from '@nestjs/common';
import { type RouteInput, statelessRoutes } from '@caribou/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { linksOf, RunStreams } from './streams/run-streams.js';
import { runJson } from './run-json.js';
import { RunsService } from './runs.service.js';
import { lastEventId, startHeaders } from './start-headers.js';

type Of<Name extends keyof typeof statelessRoutes> = RouteInput<(typeof statelessRoutes)[Name]>;

@Controller(API_ROOTS)
export class StatelessRunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly streams: RunStreams,
  ) {}

  @Route(statelessRoutes.create)
  async create(
    @Caller() caller: Principal,
    @Input() { body }: Of<'create'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const run = await this.runs.startAlone(caller.userId, body, startHeaders(request, reply));
    void reply.header('content-location', linksOf(run)['content-location']);
    return runJson(run);
  }

  @Route(statelessRoutes.stream)
  async stream(
    @Caller() caller: Principal,
    @Input() { body }: Of<'stream'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const start = () => this.runs.startAlone(caller.userId, body, startHeaders(request, reply));
    await this.streams.stream({ userId: caller.userId, reply }, start, { isNew: true });
  }

  @Route(statelessRoutes.wait)
  async wait(
    @Caller() caller: Principal,
    @Input() { body }: Of<'wait'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const start = () => this.runs.startAlone(caller.userId, body, startHeaders(request, reply));
    await this.streams.wait({ userId: caller.userId, reply }, start);
  }

  @Route(statelessRoutes.batch)
  async batch(
    @Caller() caller: Principal,
    @Input() { body }: Of<'batch'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const runs = await this.runs.startBatch(caller.userId, body, startHeaders(request, reply));
    return runs.map(runJson);
  }

  @Route(statelessRoutes.joinStream)
  async joinStream(
    @Caller() caller: Principal,
    @Input() { params, query }: Of<'joinStream'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const { cancel_on_disconnect: cancelOnDisconnect = false, stream_mode: modes = [] } = query;
    const options = { cancelOnDisconnect, modes, lastEventId: lastEventId(request) };
    await this.streams.stream(
      { userId: caller.userId, reply },
      () => this.runs.find(caller.userId, params.run_id),
      options,
    );
  }
}
