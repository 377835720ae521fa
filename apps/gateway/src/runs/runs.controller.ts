import { Controller, Req, Res } from '@nestjs/common';
import { type RouteInput, runRoutes } from '@caribou/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { assertMayRead, type Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { linksOf, RunStreams } from './streams/run-streams.js';
import { selectFields } from '../threads/thread-json.js';
import { runJson, summaryJson } from './run-json.js';
import { RunCancels } from './run-cancels.js';
import { RunsService } from './runs.service.js';
import { lastEventId, startHeaders } from './start-headers.js';

type Of<Name extends keyof typeof runRoutes> = RouteInput<(typeof runRoutes)[Name]>;

/** How long `cancel?wait=1` waits before it answers 202 instead of 204. */
const CANCEL_WAIT_MS = 30_000;

const keyOf = (caller: Principal, { params }: { readonly params: { readonly thread_id: string } }) => ({
  userId: caller.userId,
  threadId: params.thread_id,
});

/** Who cancels, for the trace of the run. */
const cancelledBy = ({ userId }: Principal) => ({ by: `user:${userId}` });

/** The thread of the caller, or for an administrator that of the user who is named. @throws {NotFoundError} for other callers */
function keyOfOwner(caller: Principal, input: Of<'pause'> | Of<'resume'>) {
  const { user_id: userId = caller.userId } = input.query;
  assertMayRead(caller, userId);
  return { userId, threadId: input.params.thread_id };
}

@Controller(API_ROOTS)
export class RunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly streams: RunStreams,
    private readonly cancels: RunCancels,
  ) {}

  @Route(runRoutes.create)
  async create(
    @Caller() caller: Principal,
    @Input() input: Of<'create'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const run = await this.runs.start(keyOf(caller, input), input.body, startHeaders(request, reply));
    void reply.header('content-location', linksOf(run)['content-location']);
    return runJson(run);
  }

  @Route(runRoutes.stream)
  async stream(
    @Caller() caller: Principal,
    @Input() input: Of<'stream'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const start = () => this.runs.start(keyOf(caller, input), input.body, startHeaders(request, reply));
    const options = { lastEventId: lastEventId(request), isNew: true };
    await this.streams.stream({ userId: caller.userId, reply }, start, options);
  }

  @Route(runRoutes.wait)
  async wait(
    @Caller() caller: Principal,
    @Input() input: Of<'wait'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const start = () => this.runs.start(keyOf(caller, input), input.body, startHeaders(request, reply));
    await this.streams.wait({ userId: caller.userId, reply }, start);
  }

  @Route(runRoutes.list)
  async list(@Caller() caller: Principal, @Input() input: Of<'list'>, @Res({ passthrough: true }) reply: FastifyReply) {
    const runs = await this.runs.list(keyOf(caller, input), input.query);
    if (runs.length > 0) void reply.header('x-pagination-next', input.query.offset + runs.length);
    return runs.map((run) => selectFields(summaryJson(run), input.query.select));
  }

  @Route(runRoutes.get)
  async get(@Caller() caller: Principal, @Input() input: Of<'get'>) {
    return runJson(await this.runs.get(keyOf(caller, input), input.params.run_id));
  }

  @Route(runRoutes.remove)
  remove(@Caller() caller: Principal, @Input() input: Of<'remove'>) {
    return this.runs.remove(keyOf(caller, input), input.params.run_id);
  }

  @Route(runRoutes.join)
  async join(@Caller() caller: Principal, @Input() input: Of<'join'>, @Res() reply: FastifyReply) {
    const find = () => this.runs.get(keyOf(caller, input), input.params.run_id);
    const cancelOnDisconnect = input.query.cancel_on_disconnect ?? false;
    await this.streams.wait({ userId: caller.userId, reply }, find, { cancelOnDisconnect });
  }

  @Route(runRoutes.joinStream)
  async joinStream(
    @Caller() caller: Principal,
    @Input() input: Of<'joinStream'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const find = () => this.runs.get(keyOf(caller, input), input.params.run_id);
    const { cancel_on_disconnect: cancelOnDisconnect = false, stream_mode: modes = [] } = input.query;
    const options = { cancelOnDisconnect, modes, lastEventId: lastEventId(request) };
    await this.streams.stream({ userId: caller.userId, reply }, find, options);
  }

  @Route(runRoutes.cancel)
  async cancel(@Caller() caller: Principal, @Input() input: Of<'cancel'>, @Res() reply: FastifyReply) {
    const { wait = false, action } = input.query;
    const run = await this.runs.cancel(keyOf(caller, input), input.params.run_id, action, cancelledBy(caller));
    const over = wait && (await this.streams.waitForEnd(run, CANCEL_WAIT_MS)) !== null;
    await reply.status(over ? 204 : 202).send();
  }

  @Route(runRoutes.cancelMany)
  async cancelMany(@Caller() caller: Principal, @Input() { body, query }: Of<'cancelMany'>): Promise<void> {
    await this.cancels.cancel(caller.userId, body, query.action);
  }

  @Route(runRoutes.pause)
  async pause(@Caller() caller: Principal, @Input() input: Of<'pause'>) {
    return summaryJson(await this.runs.pause(keyOfOwner(caller, input), input.params.run_id, caller.userId));
  }

  @Route(runRoutes.resume)
  async resume(
    @Caller() caller: Principal,
    @Input() input: Of<'resume'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const key = keyOfOwner(caller, input);
    const headers = startHeaders(request, reply);
    // An administrator's key does not pay for the runs of others.
    const acting =
      key.userId === caller.userId ? headers : { ...headers, apiKey: undefined, actingUserId: caller.userId };
    const run = await this.runs.resume(key, input.params.run_id, acting);
    void reply.header('content-location', linksOf(run)['content-location']);
    return runJson(run);
  }
}
