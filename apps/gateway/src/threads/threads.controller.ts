import { Controller, Req, Res } from '@nestjs/common';
import { type RouteInput, threadRoutes } from '@caribou/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { addQuota } from '../http/rate-limit-headers.js';
import { addStoreWork } from '../http/request-budget.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { lastEventId } from '../runs/start-headers.js';
import { ThreadStreams } from '../runs/streams/thread-streams.js';
import { ThreadPruning } from './thread-pruning.js';
import { selectState } from './thread-json.js';
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
    private readonly pruning: ThreadPruning,
    private readonly streams: ThreadStreams,
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
  async get(@Caller() caller: Principal, @Input() input: Of<'get'>) {
    const thread = await this.threads.get(keyOf(caller, input));
    return input.query.include?.includes('ttl') === true ? { ...thread, ttl: null } : thread;
  }

  @Route(threadRoutes.patch)
  async patch(
    @Caller() caller: Principal,
    @Input() input: Of<'patch'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const thread = await this.threads.patch(keyOf(caller, input), input.body.metadata ?? {});
    if (prefersMinimal(request)) await reply.status(204).header('preference-applied', 'return=minimal').send();
    else await reply.send(thread);
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

  @Route(threadRoutes.prune)
  async prune(@Caller() { userId }: Principal, @Input() { body }: Of<'prune'>) {
    return { pruned_count: await this.pruning.prune(userId, body.thread_ids, body.strategy) };
  }

  @Route(threadRoutes.joinStream)
  async joinStream(
    @Caller() caller: Principal,
    @Input() input: Of<'joinStream'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const options = { modes: input.query.stream_mode ?? [], lastEventId: lastEventId(request) };
    await this.streams.stream({ userId: caller.userId, reply }, keyOf(caller, input), options);
  }

  @Route(threadRoutes.tokenUsage)
  getTokenUsage(@Caller() caller: Principal, @Input() input: Of<'tokenUsage'>) {
    return this.usage.of(keyOf(caller, input));
  }

  @Route(threadRoutes.state)
  async state(@Caller() caller: Principal, @Input() input: Of<'state'>) {
    return selectState(await this.threads.state(keyOf(caller, input)), input.query.select);
  }

  @Route(threadRoutes.stateAt)
  async stateAt(@Caller() caller: Principal, @Input() input: Of<'stateAt'>) {
    const { params, query } = input;
    return selectState(await this.threads.state(keyOf(caller, input), params.checkpoint_id), query.select);
  }

  @Route(threadRoutes.stateAtCheckpoint)
  async stateAtCheckpoint(@Caller() caller: Principal, @Input() input: Of<'stateAtCheckpoint'>) {
    const { checkpoint, select } = input.body;
    return selectState(await this.threads.state(keyOf(caller, input), checkpoint.checkpoint_id), select);
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
    return states.map((state) => selectState(state, input.body.select));
  }

  @Route(threadRoutes.patchState)
  async patchState(@Caller() caller: Principal, @Input() input: Of<'patchState'>): Promise<void> {
    await this.threads.patch(keyOf(caller, input), input.body.metadata ?? {});
  }
}

/** Whether the client asks for an answer without a body (RFC 7240). */
const prefersMinimal = ({ headers }: FastifyRequest): boolean =>
  /(^|[,;\s])return=minimal($|[,;\s])/.test(String(headers['prefer'] ?? ''));
