import type { ChainPorts, Place } from './chain-types.js';
import { clarification } from '../conversation/clarification.js';
import { danglingToolCall } from '../model-calls/dangling-tool-call.js';
import { deferredToolFilter } from '../tool-search/deferred-tool-filter.js';
import { gatedModel } from '../model-calls/gated-model.js';
import { inputSanitization } from '../conversation/input-sanitization.js';
import { lengthFinish } from '../model-calls/length-finish.js';
import { llmError } from '../model-calls/llm-error.js';
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
import { title } from '../conversation/title.js';
import { toolError } from '../tool-calls/tool-error.js';
import { uploads } from '../conversation/uploads.js';
import { viewImage } from '../conversation/view-image.js';

/** `reason` where the switch is off. */
const unless = (on: boolean | undefined, reason: string): string | undefined => (on === false ? reason : undefined);

/** The model of the run for a call of ours: one that the loop's own limits do not count. */
const quiet = ({ model, gate }: ChainPorts) => (gate === undefined ? model : gatedModel(model, gate));

/** The one order of the chain, outermost first, one line and one reason each. */
export const places: readonly Place[] = [
  {
    name: 'input-sanitization',
    reason:
      'outside retries and all that reads a request: every attempt sends words that cannot pass for the framework',
    absent: (options) => unless(options.inputSanitization?.enabled, 'input_sanitization.enabled is false'),
    make: (_, { inputSanitization: options }) => [inputSanitization(options)],
  },
  {
    name: 'tool-output-budget',
    reason: 'outside all that makes or changes an answer of a tool: it sees its final size',
    absent: ({ toolOutput }) => unless(toolOutput?.enabled, 'tool_output.enabled is false'),
    make: ({ sandbox: port }, { toolOutput }) => [toolOutputBudget({ sandbox: port }, toolOutput?.limits)],
  },
  {
    name: 'tool-result-sanitization',
    reason: 'inside the budget, so that what goes into a file is defused too',
    make: () => [toolResultSanitization()],
  },
  {
    name: 'thread-data',
    reason: 'before all: later hooks and prompts speak of the directories of the thread',
    make: () => [threadData()],
  },
  {
    name: 'uploads',
    reason: 'before what reads the last message: it is complete from here on',
    leadOnly: true,
    make: (ports) => [uploads(ports)],
  },
  {
    name: 'skill-activation',
    reason: 'behind uploads, which looks at the last message: this adds one',
    leadOnly: true,
    make: (ports, { skills = [] }) => [skillActivation({ skills }, ports.sandbox)],
  },
  {
    name: 'sandbox',
    reason: 'outside tool-error: the binding is kept even when the tool that acquired it failed',
    make: (ports) => [sandbox(ports.sandbox)],
  },
  {
    name: 'dangling-tool-call',
    reason: 'outside llm-error: every attempt sends the repaired history',
    make: () => [danglingToolCall()],
  },
  {
    name: 'llm-error',
    reason: 'outside what shapes a single attempt',
    make: ({ gate, model }, options) => [
      llmError({ ...options.llmError, ...(gate && { gated: { gate, endpoint: model.endpoint } }) }),
    ],
  },
  {
    name: 'sandbox-audit',
    reason: 'outside tool-error: a blocked command reaches no tool, and a note is put on an answer',
    make: (ports, options) => [sandboxAudit(ports.sandbox, options.commands)],
  },
  {
    name: 'read-before-write',
    reason: 'inside the audit, so that a refused write is on record; outside tool-error: it marks what a read answered',
    absent: (options) => unless(options.readBeforeWrite?.enabled, 'read_before_write.enabled is false'),
    make: () => [readBeforeWrite()],
  },
  {
    name: 'tool-error',
    reason: 'innermost of the general tool layers: those outside see an answer, never an exception',
    make: () => [toolError()],
  },
  {
    name: 'skill-tool-policy',
    reason:
      'inside the audit, so that a refused call is on record; outside deferred-tool-filter: what a skill does not allow is not looked up either',
    leadOnly: true,
    make: () => [skillToolPolicy()],
  },
  {
    name: 'summarization',
    // A thread may have a summary although no more are made, so it is never left out.
    reason: 'before what reads the context in beforeModel: it is as short as it gets from here on',
    make: (ports, { summarization: given = {} }) => {
      const { model: summaryModel, ...options } = given;
      return [summarization(options, { model: () => quiet(ports), ...(summaryModel && { summaryModel }) })];
    },
  },
  {
    name: 'todo',
    reason: 'behind summarization: it sees whether the call that made the plan is still there',
    leadOnly: true,
    absent: ({ planMode }) => (planMode === true ? undefined : 'the run is not in plan mode'),
    make: () => [todo()],
  },
  {
    name: 'token-usage',
    reason:
      'behind what changes an answer in afterModel, which runs in reverse: it says what the calls that are left were for',
    absent: ({ tokenUsage: options }) => unless(options?.enabled, 'token_usage.enabled is false'),
    make: () => [tokenUsage()],
  },
  {
    name: 'title',
    reason: 'afterModel runs in reverse: it names the answer as all later hooks left it',
    leadOnly: true,
    absent: (options) => unless(options.title?.enabled, 'title.enabled is false'),
    make: (_, options) => [title(options.title)],
  },
  {
    name: 'memory',
    reason: 'afterAgent runs in reverse: it sees the run as all later hooks left it',
    leadOnly: true,
    absent: (options) => unless(options.memory?.enabled, 'memory.enabled is false'),
    make: (_, options) => [memory(options.memory)],
  },
  {
    name: 'view-image',
    reason: 'inside llm-error: images are read anew for each attempt, and never part of the thread',
    absent: (options) => (options.vision === true ? undefined : 'the model does not read images'),
    make: (ports) => [viewImage(ports.sandbox)],
  },
  {
    name: 'deferred-tool-filter',
    reason: 'inside all that adds to a request: what is hidden stays hidden whatever they did',
    absent: ({ toolSearch }) => (toolSearch === undefined ? 'tool_search.enabled is false' : undefined),
    make: (_, { toolSearch, custom = [] }) => {
      const { tools, autoPromoteTopK } = toolSearch ?? { tools: [] };
      const all = [...tools, ...custom.flatMap((middleware) => middleware.tools ?? [])];
      return [deferredToolFilter({ tools: all, ...(autoPromoteTopK === undefined ? {} : { autoPromoteTopK }) })];
    },
  },
  {
    name: 'subagent-limit',
    reason: 'outside loop-detection: afterModel runs in reverse, so that one sees the calls before they are cut',
    leadOnly: true,
    absent: ({ subagents }) => (subagents === undefined ? 'the run has no subagents' : undefined),
    make: (_, { subagents }) => [subagentLimit(subagents)],
  },
  {
    name: 'loop-detection',
    reason: 'outside what may change an answer behind it: it counts the calls that are left',
    absent: ({ loopDetection: options }) => unless(options?.enabled, 'loop_detection.enabled is false'),
    make: (_, options) => [loopDetection(options.loopDetection)],
  },
  {
    name: 'token-budget',
    reason: 'its afterModel comes before loop-detection: calls that cannot be paid for are no repetition',
    absent: ({ tokenBudget: options }) => (options?.enabled === true ? undefined : 'token_budget.enabled is false'),
    make: (_, options) => [tokenBudget(options.tokenBudget)],
  },
  {
    name: 'custom',
    reason: 'inside ours: the rules for commands stand outside, and what these see of a request is what is sent',
    absent: ({ custom = [] }) => (custom.length > 0 ? undefined : 'extensions.middlewares is empty'),
    make: (_, { custom = [] }) => custom,
  },
  {
    name: 'terminal-response',
    reason: 'behind all that may leave an answer empty: its afterModel sees the answer before they do',
    make: () => [terminalResponse()],
  },
  {
    name: 'length-finish',
    reason: 'its afterModel comes before all that look at the calls of an answer: cut ones are out by then',
    make: () => [lengthFinish()],
  },
  {
    name: 'safety-finish',
    reason: 'its afterModel comes first of all but clarification: nothing acts on what a filter broke off',
    absent: (options) => unless(options.safetyFinish?.enabled, 'safety_finish_reason.enabled is false'),
    make: (_, options) => [safetyFinish(options.safetyFinish)],
  },
  {
    name: 'clarification',
    reason: 'always last: every layer sees the call, and none runs the tool',
    leadOnly: true,
    make: (_, options) => [clarification(options.clarification)],
  },
];
