import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { FreeJson, queryList, route } from '../route.js';

/**
 * The Agent Streaming Protocol of LangChain (`@langchain/protocol`), which clients speak over HTTP with server-sent events or
 * over one WebSocket. The names of methods, channels and error codes are the protocol's.
 */
export const PROTOCOL_CHANNELS = [
  'values',
  'updates',
  'messages',
  'tools',
  'lifecycle',
  'input',
  'checkpoints',
  'tasks',
  'custom',
] as const;
export type ProtocolChannel = (typeof PROTOCOL_CHANNELS)[number];

const MAX_CHANNELS = 50;
const MAX_CHANNEL_CHARS = 200;
const MAX_NAMESPACES = 100;
const MAX_SEGMENTS = 20;
const MAX_SEGMENT_CHARS = 200;
const MAX_METHOD_CHARS = 100;
const MAX_ANSWERS = 100;
const MAX_CHECKPOINTS = 100;

const plainChannels = new Set<string>(PROTOCOL_CHANNELS);

/** A channel, or `custom:<name>` for the custom events of one name. */
const Channel = z
  .string()
  .max(MAX_CHANNEL_CHARS)
  .refine((name) => plainChannels.has(name) || /^custom:./.test(name), {
    message: `must be one of ${PROTOCOL_CHANNELS.join(', ')} or custom:<name>`,
  });

/** A position in the tree of agents: `[]` is the run's own agent, `["tools:<tool call id>"]` the subagent of that call. */
export const ProtocolNamespace = z.array(z.string().max(MAX_SEGMENT_CHARS)).max(MAX_SEGMENTS);

const Seq = z.int().min(0);

/** Which events a stream or subscription delivers, and after which sequence number it begins. */
export const EventFilter = z.object({
  channels: z.array(Channel).min(1).max(MAX_CHANNELS),
  namespaces: z.array(ProtocolNamespace).max(MAX_NAMESPACES).nullish(),
  depth: z.int().min(0).nullish().describe('How far below one of the namespaces an event may be'),
  since: Seq.nullish().describe('Events after this sequence number; absent: from the start of the current or last run'),
});
export type EventFilter = z.output<typeof EventFilter>;

/** A command before its parameters are checked; ids are the client's own. */
export const CommandEnvelope = z.looseObject({
  id: z.int().min(0),
  method: z.string().max(MAX_METHOD_CHARS),
  params: z.record(z.string(), z.unknown()).nullish(),
});
export type CommandEnvelope = z.output<typeof CommandEnvelope>;

const Goto = z.union([z.string(), z.looseObject({ node: z.string() }), z.array(z.unknown()).max(MAX_ANSWERS)]);

const Answer = z.object({
  namespace: ProtocolNamespace.default([]),
  interrupt_id: z.string().min(1).max(MAX_SEGMENT_CHARS),
  response: z.unknown().optional(),
});

const resumeOptions = {
  update: z.unknown().optional(),
  goto: Goto.nullish(),
  config: FreeJson.nullish(),
  metadata: FreeJson.nullish(),
  strict_resume: z.boolean().nullish(),
};

/** One answer, or several to the interrupts of one checkpoint. */
const InputRespond = z
  .object({
    ...resumeOptions,
    namespace: ProtocolNamespace.optional(),
    interrupt_id: z.string().min(1).max(MAX_SEGMENT_CHARS).optional(),
    response: z.unknown().optional(),
    responses: z.array(Answer).min(1).max(MAX_ANSWERS).optional(),
  })
  .refine(({ responses, interrupt_id: id }) => (responses === undefined) !== (id === undefined), {
    message: 'must hold either interrupt_id with response, or responses',
  });

/** The parameters of each command. Those of `run.start` and `state.fork` are checked further as requests for a run. */
export const commandParams = {
  'run.start': z.looseObject({
    assistant_id: z.string().min(1),
    input: z.unknown().optional(),
    config: FreeJson.nullish(),
    metadata: FreeJson.nullish(),
    multitask_strategy: z.string().nullish(),
  }),
  'input.respond': InputRespond,
  'input.inject': z.object({
    namespace: ProtocolNamespace.default([]),
    message: z.looseObject({
      role: z.enum(['user', 'system']),
      content: z.string().min(1),
      name: z.string().max(MAX_SEGMENT_CHARS).optional(),
    }),
  }),
  'state.get': z.object({
    namespace: ProtocolNamespace.default([]),
    keys: z.array(z.string().max(MAX_SEGMENT_CHARS)).max(MAX_CHANNELS).nullish(),
  }),
  'state.listCheckpoints': z.object({
    namespace: ProtocolNamespace.nullish(),
    limit: z.int().min(1).max(MAX_CHECKPOINTS).nullish(),
    before: z.string().max(MAX_SEGMENT_CHARS).nullish(),
  }),
  'state.fork': z.object({
    checkpoint_id: z.string().min(1).max(MAX_SEGMENT_CHARS),
    input: z.unknown().optional(),
    config: FreeJson.nullish(),
  }),
  'agent.getTree': z.object({ run_id: z.string().max(MAX_SEGMENT_CHARS).nullish() }),
  'subscription.subscribe': EventFilter,
  'subscription.unsubscribe': z.object({ subscription_id: z.string().max(MAX_SEGMENT_CHARS) }),
  'subscription.reconnect': z.object({
    run_id: z.string().max(MAX_SEGMENT_CHARS),
    last_event_id: z.string().max(MAX_SEGMENT_CHARS).nullish(),
    subscriptions: z.array(z.string().max(MAX_SEGMENT_CHARS)).max(MAX_CHANNELS).nullish(),
  }),
} as const satisfies Readonly<Record<string, z.ZodType>>;

export type CommandMethod = keyof typeof commandParams;
export type CommandParams<Method extends CommandMethod> = z.output<(typeof commandParams)[Method]>;

export const ProtocolErrorCode = z.enum([
  'invalid_argument',
  'unknown_command',
  'unknown_error',
  'no_such_run',
  'no_such_subscription',
  'no_such_namespace',
  'no_such_interrupt',
  'no_such_checkpoint',
  'permission_denied',
  'not_supported',
]);
export type ProtocolErrorCode = z.infer<typeof ProtocolErrorCode>;

const ResponseMeta = z
  .object({ applied_through_seq: Seq.describe('The last sequence number before the run that the command started') })
  .partial();

export const CommandReply = z.discriminatedUnion('type', [
  z.object({ type: z.literal('success'), id: Seq, result: FreeJson, meta: ResponseMeta.optional() }),
  z.object({
    type: z.literal('error'),
    id: Seq.nullable(),
    error: ProtocolErrorCode,
    message: z.string(),
  }),
]);
export type CommandReply = z.infer<typeof CommandReply>;

/** The thread of the route. It need not exist: a stream waits for its first run, and `run.start` creates it. */
const ThreadPath = z.object({ thread_id: ThreadId });

const parsedJson = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch (error) {
    if (error instanceof SyntaxError) return value;
    throw error;
  }
};

const commands = route({
  name: 'sendCommand',
  group: 'Streaming protocol',
  method: 'POST',
  path: '/threads/:thread_id/commands',
  summary:
    'Carry out one command of the Agent Streaming Protocol: run.start, input.respond, input.inject, state.get, state.listCheckpoints, state.fork, agent.getTree.',
  params: ThreadPath,
  body: z.unknown().optional(),
  reply: CommandReply,
  refusals: [429],
});

const events = route({
  name: 'streamThreadEvents',
  group: 'Streaming protocol',
  method: 'POST',
  path: '/threads/:thread_id/stream/events',
  summary: 'Events of a thread over its runs: those of the current or last run, or all after `since`, then new ones.',
  params: ThreadPath,
  body: EventFilter,
  reply: 'event-stream',
  refusals: [429],
});

const joinEvents = route({
  name: 'joinThreadEvents',
  group: 'Streaming protocol',
  method: 'GET',
  path: '/threads/:thread_id/stream/events',
  summary:
    'The same for clients that can only GET; a Last-Event-ID counts as `since`. With an upgrade to WebSocket: commands, their answers and the events of subscriptions on one connection.',
  params: ThreadPath,
  query: z.object({
    channels: queryList(Channel).optional().describe('Default: all'),
    namespaces: z.preprocess(parsedJson, z.array(ProtocolNamespace).max(MAX_NAMESPACES).optional()),
    depth: z.coerce.number().int().min(0).optional(),
    since: z.coerce.number().int().min(0).optional(),
  }),
  reply: 'event-stream',
  refusals: [429],
});

export const protocolRoutes = { commands, events, joinEvents };
