import { Controller, Req, Res } from '@nestjs/common';
import { type RouteInput, threadRoutes } from '@caribou/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { addQuota } from '../http/rate-limit-headers.js';
import { addStoreWork } from '../http/request-budget.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { ThreadsService } from './threads.service.js';
import { TokenUsageService } from './token-usage.service.js';

type Of<Name extends keyof typeof threadRoutes> = RouteInput<(typeof threadRoutes)[Name]>;

const keyOf = (caller: Principal, { params }: { readonly params: { readonly thread_id: string } }) => ({
  userId: caller.userId,
  threadId: params.thread_id,
});

@Controller(API_ROOTS)
export class ThreadsController {
  constructor(
    private readonly threads: ThreadsService,
    private readonly usage: TokenUsageService,
  ) {}

  @Route(threadRoutes.create)
  async create(
    @Caller() caller: Principal,
    @Input() { body }: Of<'create'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { thread, threads } = await this.threads.create(caller.userId, body);
    addQuota(reply, threads);
    return thread;
  }

  @Route(threadRoutes.search)
  async search(
    @Caller() caller: Principal,
    @Input() { body }: Of<'search'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { threads, total } = await this.threads.search(caller.userId, body);
    void reply.header('x-pagination-total', total);
    const next = body.offset + threads.length;
    if (next < total) void reply.header('x-pagination-next', next);
    return threads;
  }

  @Route(threadRoutes.count)
  async count(@Caller() caller: Principal, @Input() { body }: Of<'count'>, @Res() reply: FastifyReply) {
    await reply.type('application/json').send(String(await this.threads.count(caller.userId, body)));
  }

  @Route(threadRoutes.get)
  get(@Caller() caller: Principal, @Input() input: Of<'get'>) {
    return this.threads.get(keyOf(caller, input));
  }

  @Route(threadRoutes.patch)
  patch(@Caller() caller: Principal, @Input() input: Of<'patch'>) {
    return this.threads.patch(keyOf(caller, input), input.body.metadata ?? {});
  }

  @Route(threadRoutes.remove)
  remove(@Caller() caller: Principal, @Input() input: Of<'remove'>) {
    return this.threads.remove(keyOf(caller, input));
  }

  @Route(threadRoutes.copy)
  async copy(
    @Caller() caller: Principal,
    @Input() input: Of<'copy'>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { thread, threads, bytes } = await this.threads.copy(keyOf(caller, input));
    addQuota(reply, threads);
    addStoreWork(request, bytes);
    return thread;
  }

  @Route(threadRoutes.tokenUsage)
  getTokenUsage(@Caller() caller: Principal, @Input() input: Of<'tokenUsage'>) {
    return this.usage.of(keyOf(caller, input));
  }

  @Route(threadRoutes.state)
  state(@Caller() caller: Principal, @Input() input: Of<'state'>) {
    return this.threads.state(keyOf(caller, input));
  }

  @Route(threadRoutes.stateAt)
  stateAt(@Caller() caller: Principal, @Input() input: Of<'stateAt'>) {
    return this.threads.state(keyOf(caller, input), input.params.checkpoint_id);
  }

  @Route(threadRoutes.stateAtCheckpoint)
  stateAtCheckpoint(@Caller() caller: Principal, @Input() input: Of<'stateAtCheckpoint'>) {
    return this.threads.state(keyOf(caller, input), input.body.checkpoint.checkpoint_id);
  }

  @Route(threadRoutes.updateState)
  async update(@Caller() caller: Principal, @Input() input: Of<'updateState'>, @Req() request: FastifyRequest) {
    const { reply, bytes } = await this.threads.update(keyOf(caller, input), input.body);
    addStoreWork(request, bytes);
    return reply;
  }

  @Route(threadRoutes.history)
  async history(
    @Caller() caller: Principal,
    @Input() input: Of<'history'>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const states = await this.threads.history(keyOf(caller, input), input.body);
    const last = states.at(-1);
    if (last?.parent_checkpoint) void reply.header('x-pagination-next', last.checkpoint?.checkpoint_id);
    return states;
  }
}
