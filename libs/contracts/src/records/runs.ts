import { z } from 'zod';
import { AgentNamePattern } from '../settings/agents.js';
import { HumanMessage, SystemMessage, ToolMessage } from './messages.js';
import { ReasoningEffort } from '../settings/call-settings.js';
import { InterruptId } from './interrupts.js';
import { ChannelValues, NextNode } from './thread-state.js';

export const RunStatus = z.enum(['pending', 'running', 'success', 'error', 'timeout', 'interrupted']);
export type RunStatus = z.infer<typeof RunStatus>;

export const isTerminal = (status: RunStatus): boolean => status !== 'pending' && status !== 'running';

export const MultitaskStrategy = z.enum(['reject', 'interrupt', 'rollback', 'enqueue']);
export type MultitaskStrategy = z.infer<typeof MultitaskStrategy>;

/**
 * What a request may ask for. `steer` gives its messages to the run in flight; a run that it starts as there is none is stored
 * as `enqueue`, which services of earlier versions know.
 */
export const RequestedStrategy = z.enum([...MultitaskStrategy.options, 'steer']);
export type RequestedStrategy = z.infer<typeof RequestedStrategy>;

export const CancelAction = z.enum(['interrupt', 'rollback']);
export type CancelAction = z.infer<typeof CancelAction>;

export const StreamMode = z.enum([
  'values',
  'messages-tuple',
  'messages',
  'updates',
  'custom',
  'events',
  'debug',
  'tasks',
  'checkpoints',
  'tools',
]);
export type StreamMode = z.infer<typeof StreamMode>;

/** What a stream of a thread shows: the events of its runs, only their starts and ends, or its states. */
export const ThreadStreamMode = z.enum(['run_modes', 'lifecycle', 'state_update']);
export type ThreadStreamMode = z.infer<typeof ThreadStreamMode>;

/** The default agent; other assistant ids name custom agents, which are the same agent with other settings. */
export const LEAD_AGENT = 'lead_agent';

/** Switches of a run, from the request's `context` over `config.configurable`. */
export const RunContextValues = z.looseObject({
  model_name: z.string().optional(),
  thinking_enabled: z.boolean().optional(),
  reasoning_effort: ReasoningEffort.optional(),
  /** As `RunSettings` checks them at admission; a stored value of another kind, of an earlier version, counts as absent. */
  temperature: z.number().optional().catch(undefined),
  max_tokens: z.number().optional().catch(undefined),
  is_plan_mode: z.boolean().optional(),
  subagent_enabled: z.boolean().optional(),
  max_concurrent_subagents: z.number().optional(),
  max_total_subagents: z.number().optional(),
  /** Whether the agent makes assumptions instead of asking questions. */
  disable_clarification: z.boolean().optional(),
  /** Whether no user is present to answer; the agent then has no tool to ask questions. */
  non_interactive: z.boolean().optional(),
  /** The scheduled task that has started the run and whose schedule the agent may stop; only the server sets it. */
  scheduled_task: z.string().optional(),
  /** The custom agent to use or, with `is_bootstrap`, to create. */
  agent_name: AgentNamePattern.optional(),
  /** The conversation is about creating a custom agent. */
  is_bootstrap: z.boolean().optional(),
});
export type RunContextValues = z.infer<typeof RunContextValues>;

/** Name of the custom agent that executes a run; undefined: the lead agent, which also creates new ones. */
export const customAgentOf = ({ agent_name: name, is_bootstrap: makesOne }: RunContextValues): string | undefined =>
  makesOne === true ? undefined : name;

/** A message of a run's input. A tool message is the client's answer to a call that has none. */
export const RunInputMessage = z.union([HumanMessage, SystemMessage, ToolMessage]);
export type RunInputMessage = z.infer<typeof RunInputMessage>;

const RunInputValues = ChannelValues.extend({ messages: z.array(RunInputMessage).optional() });

/** LangGraph's end of the graph as a target of `goto`. */
export const END_NODE = '__end__';

/** How a run continues a thread that waits, in place of an input. */
export const RunCommand = z.object({
  /** Answers by interrupt. Interrupts without an answer stay open. */
  answers: z.record(InterruptId, z.unknown()).optional(),
  /** User id of who answered; absent: the deadline of the interrupts did. */
  answered_by: z.string().optional(),
  /** The node to continue at, whatever is open; open interrupts are then withdrawn. */
  goto: z.union([NextNode, z.literal(END_NODE)]).optional(),
  update: RunInputValues.optional(),
});
export type RunCommand = z.infer<typeof RunCommand>;

/** The request of a run: normalised by the gateway (message ids created, contexts merged), read by the runner. */
export const RunKwargs = z.object({
  /** null: continue from the head without new input. */
  input: RunInputValues.nullable(),
  /** `input` is null then. */
  command: RunCommand.optional(),
  context: RunContextValues,
  /** Upper bound of model turns. */
  recursion_limit: z.number().int().min(1),
  stream_mode: z.array(StreamMode),
  stream_subgraphs: z.boolean(),
  on_disconnect: z.enum(['cancel', 'continue']),
  interrupt_before: z.union([z.literal('*'), z.array(z.string())]).optional(),
  interrupt_after: z.union([z.literal('*'), z.array(z.string())]).optional(),
  /** URL that gets an event when the run has ended. */
  webhook: z.string().optional(),
  /** As requested; the run starts no earlier than this after its admission. */
  after_seconds: z.number().optional(),
  /** The thread was created for this run and is deleted with it. */
  temporary: z.boolean(),
  /** Time limit from the first claim, after which the run ends as `timeout`. Absent: no limit. */
  timeout_ms: z.int().min(1).optional(),
});
export type RunKwargs = z.infer<typeof RunKwargs>;
