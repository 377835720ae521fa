import type { AgentMiddleware, ToolOutcome } from '@caribou/core';

const TOOL_NAME = 'ask_clarification';
const MAX_OPTIONS = 24;
const MAX_LABEL_CHARS = 200;

const icons: Readonly<Record<string, string>> = {
  missing_info: '❓',
  ambiguous_requirement: '🤔',
  approach_choice: '🔀',
  risk_confirmation: '⚠️',
  suggestion: '💡',
};

/**
 * Answers `ask_clarification` in the tool's place: the question becomes the tool message and the run ends
 * successfully; the person's reply is the next run's input. Sibling calls of the same message still run. Stands last
 * in the chain, so that every other layer sees the call.
 */
export function clarification(): AgentMiddleware {
  return {
    name: 'clarification',
    wrapToolCall: (request, next) =>
      request.call.name === TOOL_NAME && request.tool !== undefined
        ? Promise.resolve(clarificationOutcome(request.call.id, request.call.args))
        : next(request),
  };
}

/** The question as text for the model and any client, and as data for a client that renders choices. */
export function clarificationOutcome(toolCallId: string, args: Readonly<Record<string, unknown>>): ToolOutcome {
  const question = textField(args['question']);
  const context = textField(args['context']);
  const type = textField(args['clarification_type']);
  const options = parseOptions(args['options']);
  const requestId = `clarification:${toolCallId}`;
  return {
    content: questionText({ icon: icons[type] ?? '❓', question, context, options }),
    messageId: requestId,
    end: true,
    artifact: {
      human_input: {
        version: 1,
        kind: 'human_input_request',
        source: TOOL_NAME,
        request_id: requestId,
        tool_call_id: toolCallId,
        clarification_type: type === '' ? 'missing_info' : type,
        question,
        ...(context === '' ? {} : { context }),
        input_mode: options.length === 0 ? 'free_text' : 'choice_with_other',
        ...(options.length === 0
          ? {}
          : { options: options.map((label, index) => ({ id: `option-${index + 1}`, label, value: label })) }),
      },
    },
  };
}

const textField = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

interface Question {
  readonly icon: string;
  readonly question: string;
  readonly context: string;
  readonly options: readonly string[];
}

function questionText({ icon, question, context, options }: Question): string {
  const head = context === '' ? `${icon} ${question}` : `${icon} ${context}\n\n${question}`;
  if (options.length === 0) return head;
  return `${head}\n\n${options.map((label, index) => `  ${index + 1}. ${label}`).join('\n')}`;
}

/**
 * Options as models really send them: a list of strings or objects, an object of them, the same as a JSON string,
 * `<option>` elements, or lines. At most 24, cut at 200 characters each, empty and repeated ones left out.
 */
export function parseOptions(value: unknown): readonly string[] {
  const labels = labelsOf(value).map((label) => Array.from(label.trim()).slice(0, MAX_LABEL_CHARS).join(''));
  return [...new Set(labels.filter((label) => label !== ''))].slice(0, MAX_OPTIONS);
}

function labelsOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(labelOf);
  if (typeof value === 'string') return labelsOfText(value);
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    const [only] = entries;
    // A wrapper such as {"options": [...]}.
    if (entries.length === 1 && only !== undefined && Array.isArray(only[1])) return labelsOf(only[1]);
    return entries.map(([, entry]) => labelOf(entry));
  }
  return [];
}

function labelOf(entry: unknown): string {
  if (typeof entry === 'string') return entry;
  if (typeof entry === 'number' || typeof entry === 'boolean') return String(entry);
  if (typeof entry !== 'object' || entry === null) return '';
  const fields: Readonly<Record<string, unknown>> = { ...entry };
  const label = [fields['label'], fields['text'], fields['title'], fields['value'], fields['name']].find(
    (field) => typeof field === 'string' && field.trim() !== '',
  );
  return typeof label === 'string' ? label : '';
}

function labelsOfText(text: string): readonly string[] {
  const trimmed = text.trim();
  if (/^[[{"]/.test(trimmed)) {
    const parsed = parseJson(trimmed);
    if (parsed !== undefined) return typeof parsed === 'string' ? [parsed] : labelsOf(parsed);
  }
  const elements = [...trimmed.matchAll(/<(option|item|li)\b[^>]*>([\s\S]*?)<\/\1>/gi)].map((match) => match[2] ?? '');
  if (elements.length > 0) return elements;
  return trimmed.split('\n').map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, ''));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
