import { omitUndefined } from '@caribou/contracts';
import { approval } from '../approvals/approval.js';
import { createApprovalRequest, createSpendingApproval, whyNoSpendingApproval } from './approval-entries.js';
import type { ChainEntry } from './chain-types.js';
import { findNamedModel, ifOff, modelForOwnCalls, toolOutputLimits } from './entry-parts.js';
import { goalEntry } from './goal-entry.js';
import { clarification } from '../conversation/clarification.js';
import { danglingToolCall } from '../model-calls/dangling-tool-call.js';
import { deferredToolFilter } from '../tool-search/deferred-tool-filter.js';
import { inputSanitization } from '../conversation/input-sanitization.js';
import { lengthFinish } from '../model-calls/length-finish.js';
import { llmError } from '../model-calls/llm-error.js';
import { retryOptions } from '../model-calls/model-attempts.js';
import { loopDetection } from '../limits/loop-detection.js';
import { memory } from '../conversation/memory.js';
import { readBeforeWrite } from '../tool-calls/read-before-write.js';
import { safetyFinish } from '../model-calls/safety-finish.js';
import { sandbox } from '../conversation/sandbox.js';
import { sandboxAudit } from '../command-rules/sandbox-audit.js';
import { skillActivation } from '../conversation/skill-activation.js';
import { skillToolPolicy } from '../tool-calls/skill-tool-policy.js';
import { subagentLimit } from '../limits/subagent-limit.js';
import { summarization } from '../summarization/summarization.js';
import { terminalResponse } from '../model-calls/terminal-response.js';
import { threadData } from '../conversation/thread-data.js';
import { todo } from '../conversation/todo.js';
import { tokenBudget } from '../limits/token-budget.js';
import { tokenUsage } from '../conversation/token-usage.js';
import { toolOutputBudget } from '../tool-calls/tool-output-budget.js';
import { toolResultSanitization } from '../tool-calls/tool-result-sanitization.js';
import { threadContext } from '../thread-context/thread-context.js';
import { title } from '../conversation/title.js';
import { toolError } from '../tool-calls/tool-error.js';
import { uploads } from '../conversation/uploads.js';
import { viewImage } from '../conversation/view-image.js';

/** The one order of the chain, outermost first, one line and one reason each. */
export const CHAIN: readonly ChainEntry[] = [
  {
    name: 'input-sanitization',
    reason:
      'outside retries and all that reads a request: every attempt sends user text that cannot imitate the framework',
    disabledReason: ({ config }) => ifOff(config.input_sanitization?.enabled, 'input_sanitization.enabled is false'),
    create: (_, { config }) => [inputSanitization({ trustSystem: config.client_messages?.trust_system ?? false })],
  },
  {
    name: 'tool-output-budget',
    reason: 'outside all that creates or changes a tool result: it sees its final size',
    disabledReason: ({ config }) => ifOff(config.tool_output?.enabled, 'tool_output.enabled is false'),
    create: (ports, { config }) => [toolOutputBudget(ports, toolOutputLimits(config.tool_output))],
  },
  {
    name: 'tool-result-sanitization',
    reason: 'inside the budget, so that what goes into a file is defused too',
    create: () => [toolResultSanitization()],
  },
  {
    name: 'thread-data',
    reason: 'before all: later hooks and prompts refer to the directories of the thread',
    create: () => [threadData()],
  },
  {
    name: 'uploads',
    reason: 'before what reads the last message: it is complete from here on',
    leadOnly: true,
    create: (ports) => [uploads(ports)],
  },
  {
    name: 'skill-activation',
    reason: 'after uploads, which reads the last message: this adds one',
    leadOnly: true,
    create: (ports, { skills = [] }) => [skillActivation({ skills }, ports.sandbox)],
  },
  {
    name: 'sandbox',
    reason: 'outside tool-error: the binding is stored even when the tool that acquired it failed',
    create: (ports) => [sandbox(ports.sandbox)],
  },
  {
    name: 'dangling-tool-call',
    reason: 'outside llm-error: every attempt sends the repaired history',
    create: () => [danglingToolCall()],
  },
  {
    name: 'llm-error',
    reason: 'outside what shapes a single attempt',
    create: ({ gate, model }, { config }) => [
      llmError(model, {
        ...retryOptions(config.llm_call),
        ...omitUndefined({ gate, showProviderText: config.llm_call?.show_provider_error }),
      }),
    ],
  },
  {
    name: 'approval',
    reason: 'outside all that checks calls: one that a person edited is checked like one of the model',
    create: () => [approval()],
  },
  {
    name: 'sandbox-audit',
    reason: 'outside tool-error: a blocked command reaches no tool, and a note is put on an answer',
    create: (ports, options) => [sandboxAudit(ports.sandbox, options.commands)],
  },
  {
    name: 'read-before-write',
    reason: 'inside the audit, so that a refused write is recorded; outside tool-error: it sees the result of a read',
    disabledReason: ({ config }) => ifOff(config.read_before_write?.enabled, 'read_before_write.enabled is false'),
    create: () => [readBeforeWrite()],
  },
  {
    name: 'tool-error',
    reason: 'innermost of the general tool layers: those outside see an answer, never an exception',
    create: () => [toolError()],
  },
  {
    name: 'skill-tool-policy',
    reason:
      'inside the audit, so that a refused call is recorded; outside deferred-tool-filter: tools that a skill forbids are not looked up either',
    leadOnly: true,
    create: () => [skillToolPolicy()],
  },
  {
    name: 'spending-approval',
    reason: 'before summarization: nothing is spent on a model while a person decides whether to go on',
    leadOnly: true,
    disabledReason: whyNoSpendingApproval,
    create: (ports, options) => [createSpendingApproval(ports, options)],
  },
  {
    name: 'summarization',
    // Never disabled, as a thread may have a summary although no further ones are created.
    reason: 'before what reads the context in beforeModel: it is as short as it gets from here on',
    create: (ports, options) => {
      const { summarization: section = {} } = options.config;
      const { model: summaryModel } = findNamedModel(options, section.model_name);
      return [summarization(section, { model: () => modelForOwnCalls(ports), ...(summaryModel && { summaryModel }) })];
    },
  },
  {
    name: 'thread-context',
    reason:
      'after summarization: its message comes before the summary, and notes whose messages were removed are joined',
    disabledReason: ({ context }) => (context === undefined ? 'nothing is shown besides the conversation' : undefined),
    create: (_, { context }) => (context === undefined ? [] : [threadContext(context)]),
  },
  {
    name: 'todo',
    reason: 'after summarization: it sees whether the call that wrote the plan is still there',
    leadOnly: true,
    disabledReason: ({ planMode }) => (planMode === true ? undefined : 'the run is not in plan mode'),
    create: () => [todo()],
  },
  {
    name: 'token-usage',
    reason:
      'before what changes an answer in afterModel, which runs in reverse: it attributes tokens to the remaining calls',
    disabledReason: ({ config }) => ifOff(config.token_usage?.enabled, 'token_usage.enabled is false'),
    create: () => [tokenUsage()],
  },
  goalEntry,
  {
    name: 'title',
    reason: 'afterModel runs in reverse: it names the answer as all later hooks left it',
    leadOnly: true,
    disabledReason: ({ config }) => ifOff(config.title?.enabled, 'title.enabled is false'),
    create: (_, options) => [
      title({ ...options.config.title, ...findNamedModel(options, options.config.title?.modelName) }),
    ],
  },
  {
    name: 'memory',
    reason: 'afterAgent runs in reverse: it sees the run as all later hooks left it',
    leadOnly: true,
    disabledReason: ({ config }) => ifOff(config.memory?.enabled, 'memory.enabled is false'),
    create: (_, { config }) => [memory(config.memory)],
  },
  {
    name: 'view-image',
    reason: 'inside llm-error: images are read again for each attempt, and never stored in the thread',
    disabledReason: (options) => (options.vision === true ? undefined : 'the model does not read images'),
    create: (ports) => [viewImage(ports.sandbox)],
  },
  {
    name: 'deferred-tool-filter',
    reason: 'inside all that adds to a request: what is hidden stays hidden whatever they did',
    disabledReason: ({ config }) => (config.tool_search?.enabled === true ? undefined : 'tool_search.enabled is false'),
    create: (_, { config, tools = [], custom = [] }) => {
      const all = [...tools, ...custom.flatMap((middleware) => middleware.tools ?? [])];
      return [deferredToolFilter({ tools: all, autoPromoteTopK: config.tool_search?.auto_promote_top_k ?? 3 })];
    },
  },
  {
    name: 'subagent-limit',
    reason: 'outside loop-detection: afterModel runs in reverse, so that one sees the calls before they are cut',
    leadOnly: true,
    disabledReason: ({ subagents }) => (subagents === true ? undefined : 'the run has no subagents'),
    create: (_, { config }) => [subagentLimit(config.subagents)],
  },
  {
    name: 'loop-detection',
    reason: 'outside what may change an answer before its afterModel: it counts the remaining calls',
    disabledReason: ({ config }) => ifOff(config.loop_detection?.enabled, 'loop_detection.enabled is false'),
    create: (_, { config }) => [loopDetection(config.loop_detection)],
  },
  {
    name: 'token-budget',
    reason: 'its afterModel comes before loop-detection: calls that cannot be paid for are no repetition',
    disabledReason: ({ config }) =>
      config.token_budget?.enabled === true ? undefined : 'token_budget.enabled is false',
    create: (_, { config }) => [tokenBudget(config.token_budget)],
  },
  {
    name: 'custom',
    reason:
      'inside the built-in ones: command rules are applied outside, and the request they see is the one that is sent',
    disabledReason: ({ custom = [] }) => (custom.length > 0 ? undefined : 'extensions.middlewares is empty'),
    create: (_, { custom = [] }) => custom,
  },
  {
    name: 'terminal-response',
    reason: 'inside all that may empty an answer: its afterModel sees the answer before they do',
    create: () => [terminalResponse()],
  },
  {
    name: 'length-finish',
    reason: 'its afterModel comes before all that read the calls of an answer: truncated ones are removed by then',
    create: () => [lengthFinish()],
  },
  {
    name: 'safety-finish',
    reason: 'its afterModel comes first of all but clarification: nothing acts on an answer that a filter cut off',
    disabledReason: ({ config }) =>
      ifOff(config.safety_finish_reason?.enabled, 'safety_finish_reason.enabled is false'),
    create: (_, { config }) => [safetyFinish(config.safety_finish_reason)],
  },
  {
    name: 'approval-request',
    reason:
      'inside all that checks, refuses or changes calls: nobody is asked for one that is not made, and what is approved is what is executed',
    create: (_, options) => [createApprovalRequest(options)],
  },
  {
    name: 'clarification',
    reason: 'always last: every layer sees the call, and none runs the tool',
    leadOnly: true,
    create: (_, { clarification: enabled = true }) => [clarification({ enabled })],
  },
];
