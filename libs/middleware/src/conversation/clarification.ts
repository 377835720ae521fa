import type { AgentMiddleware, ToolOutcome } from '@caribou/core';
import { parseForm, toOptions } from './clarification-form.js';
import { parseOptions } from './clarification-options.js';

const TOOL_NAME = 'ask_clarification';

const icons: Readonly<Record<string, string>> = {
  missing_info: '❓',
  ambiguous_requirement: '🤔',
  approach_choice: '🔀',
  risk_confirmation: '⚠️',
  suggestion: '💡',
};

export interface ClarificationOptions {
  /** Whether a user is present. If not, the tool is not available; a call of it is answered with an explanation. */
  readonly enabled?: boolean;
}

/** The answer to the model in a run without a user to ask. */
const NOBODY_ANSWERS: ToolOutcome = {
  content:
    'Nobody can be asked in this run. Go on with the most reasonable assumptions, prefer what can be undone, and say in ' +
    'your answer what you assumed.',
};

/**
 * Answers `ask_clarification` instead of the tool: the question becomes the tool message and the run ends successfully;
 * the user's reply is the next run's input. Other calls of the same message still run. If the run's
 * `disable_clarification` is set, the model is asked to make assumptions and the run continues. It is last in the
 * chain, so that every other layer sees the call.
 */
export function clarification({ enabled = true }: ClarificationOptions = {}): AgentMiddleware {
  return {
    name: 'clarification',
    wrapToolCall(request, next, run) {
      if (request.call.name !== TOOL_NAME || request.tool === undefined) return next(request);
      const asks = enabled && run.context.disable_clarification !== true;
      run.recordDecision('clarification', asks ? 'asked' : 'assumptions');
      return Promise.resolve(asks ? clarificationOutcome(request.call.id, request.call.args) : NOBODY_ANSWERS);
    },
  };
}

/** The question as text for the model and any client, and as data for a client that renders choices and forms. */
export function clarificationOutcome(toolCallId: string, args: Readonly<Record<string, unknown>>): ToolOutcome {
  const question = textField(args['question']);
  const context = textField(args['context']);
  const type = textField(args['clarification_type']);
  const form = parseForm(args['fields']);
  const options = form.fields === undefined ? parseOptions(args['options']) : [];
  const requestId = `clarification:${toolCallId}`;
  return {
    content: questionText({ icon: iconOf(type), question, context, lines: [...form.lines, ...options] }),
    messageId: requestId,
    end: true,
    artifact: {
      human_input: {
        version: form.fields === undefined ? 1 : 2,
        kind: 'human_input_request',
        source: TOOL_NAME,
        request_id: requestId,
        tool_call_id: toolCallId,
        clarification_type: type === '' ? 'missing_info' : type,
        question,
        ...(context === '' ? {} : { context }),
        ...inputOf(form.fields, options),
      },
    },
  };
}

/** How the answer is given. A web client that does not know version 2 shows the text. */
function inputOf(fields: ReturnType<typeof parseForm>['fields'], options: readonly string[]): object {
  if (fields !== undefined) return { input_mode: 'form', fields };
  if (options.length === 0) return { input_mode: 'free_text' };
  return { input_mode: 'choice_with_other', options: toOptions(options) };
}

const iconOf = (type: string): string => (Object.hasOwn(icons, type) ? icons[type] : undefined) ?? '❓';

const textField = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

interface Question {
  readonly icon: string;
  readonly question: string;
  readonly context: string;
  /** Numbered lines below the question. */
  readonly lines: readonly string[];
}

function questionText({ icon, question, context, lines }: Question): string {
  const head = context === '' ? `${icon} ${question}` : `${icon} ${context}\n\n${question}`;
  if (lines.length === 0) return head;
  return `${head}\n\n${lines.map((line, index) => `  ${index + 1}. ${line}`).join('\n')}`;
}
