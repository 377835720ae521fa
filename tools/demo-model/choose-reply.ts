import { ModelApiError } from './api-error.js';
import type { Control } from './control.js';
import { currentTurn, textOf, type Turn } from './conversation.js';
import { parseScript, type Script, ScriptError } from './grammar.js';
import { goalReply } from './goal.js';
import { memoryReply } from './memory.js';
import { isTitlePrompt, newcomerReply, titleReply } from './newcomer.js';
import { type Reply, sayReply } from './reply.js';
import type { ChatRequest } from './request-check.js';
import { planStep } from './script-step.js';
import { suggestionsReply } from './suggestions.js';
import { summaryScript } from './summary.js';

export interface ReplyContext {
  control: Control;
  /** Prefix of the tool call ids of this answer. */
  responseId: string;
  constantCallId?: string | undefined;
  /** Names the calls of this answer by their index, unless the script does; absent: `call_<responseId>_<index>`. */
  callId?: (index: number) => string;
  /** The kinds of `#fault` that the server can carry out; absent: none. */
  faults?: ReadonlySet<string>;
}

/**
 * Decides the answer from the conversation alone: a summary, a memory extraction, follow-up questions, a verdict on a goal, a title, the next step of a script, or the newcomer's story.
 *
 * @throws ModelApiError 400 `bad_directive` for a script that cannot be read.
 */
export function chooseReply(request: ChatRequest, context: ReplyContext): Reply {
  const turn = currentTurn(request.messages);
  const countUp = (text: string): number => context.control.countUp(text, 'memory');
  const memory = memoryReply(request.messages, request.tools !== undefined, countUp);
  if (memory !== undefined) return memory;
  const suggestions = suggestionsReply(request.messages, request.tools !== undefined);
  if (suggestions !== undefined) return suggestions;
  const verdict = goalReply(request.messages, request.tools !== undefined);
  if (verdict !== undefined) return verdict;
  const summary = summaryScript(request.messages, request.tools !== undefined);
  if (summary !== undefined) return builtInScript(summary, context);
  if (isTitlePrompt(turn.humanText, request.tools !== undefined)) return holdableTitle(turn.humanText, context);
  const script = readScript(turn.humanText, context.faults);
  const callId = callIds(script, context);
  if (script !== undefined) return scriptReply(script, turn, { request, context, callId });
  const tools = new Set((request.tools ?? []).map((tool) => tool.function.name));
  return newcomerReply(turn, { tools, callId });
}

/** A built-in script of the demo model: one step, the same at every call. */
function builtInScript(text: string, context: ReplyContext): Reply {
  const step = parseScript(text)?.steps[0];
  if (step === undefined) throw new Error('a built-in script has a step');
  return planStep(step, { seenBefore: () => 0, callId: callIds(undefined, context), echo: () => '' });
}

/** A title; the text `title-hold:NAME` in the conversation makes it wait until NAME is released. */
function holdableTitle(prompt: string, context: ReplyContext): Reply {
  const gate = /title-hold:(\w+)/.exec(prompt)?.[1];
  const reply = titleReply(prompt);
  return gate === undefined ? reply : builtInScript(`#hold ${gate} before\n#say Held title`, context);
}

/** The step is the number of assistant messages since the human one, so a retry of a call repeats its step. */
function scriptReply(
  script: Script,
  turn: Turn,
  { request, context, callId }: { request: ChatRequest; context: ReplyContext; callId: (index: number) => string },
): Reply {
  const at = turn.after.filter((message) => message.role === 'assistant').length;
  const step = script.steps[at];
  if (step === undefined) return sayReply('done');
  return planStep(step, {
    seenBefore: (index) => context.control.countUp(turn.humanText, `${at}.${index}`),
    callId,
    echo: () => JSON.stringify(request.messages),
  });
}

function callIds(script: Script | undefined, context: ReplyContext): (index: number) => string {
  const constant = script?.callId ?? context.constantCallId;
  return (index) => constant ?? context.callId?.(index) ?? `call_${context.responseId}_${index}`;
}

function readScript(text: string, faults: ReadonlySet<string> = new Set()): Script | undefined {
  try {
    const script = parseScript(text);
    for (const action of script?.steps.flat() ?? []) {
      if (action.do === 'fault' && !faults.has(action.kind)) {
        throw new ScriptError(`#fault ${action.kind}`, `this server has ${[...faults].join(', ') || 'no faults'}`);
      }
    }
    return script;
  } catch (cause) {
    if (!(cause instanceof ScriptError)) throw cause;
    throw new ModelApiError(400, cause.message, { param: 'messages', code: 'bad_directive' });
  }
}

/** Characters of the conversation divided by four: what the demo model reports as input tokens. */
export function countInput(request: ChatRequest): number {
  const chars = request.messages.reduce((sum, message) => sum + textOf(message).length, 0);
  return Math.ceil(chars / 4);
}
