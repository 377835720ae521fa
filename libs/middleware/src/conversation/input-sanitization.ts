import {
  type Content,
  type HumanMessage,
  isFromClient,
  type Message,
  type SystemMessage,
  textOf,
} from '@caribou/contracts';
import { type AgentMiddleware, defuseFrameworkTags } from '@caribou/core';

/** The lines around a user's text. The text cannot contain the tag, which is one of the framework's. */
const BEGIN = '<user_input>';
const END = '</user_input>';

export interface InputSanitizationOptions {
  /** System messages of clients are added to the system prompt; otherwise they are treated as user text. */
  readonly trustSystem?: boolean;
}

/**
 * In requests to the model, puts user text between two marker lines and defuses the framework's tags in it. A block
 * that `uploads` put in front of the text is unchanged. A client's system message is sent as user text too, unless
 * clients are trusted. The stored messages are not changed.
 */
export function inputSanitization({ trustSystem = false }: InputSanitizationOptions = {}): AgentMiddleware {
  // Messages of the thread never change, so each is processed once per run.
  const sent = new WeakMap<Message, Message>();
  return {
    name: 'input-sanitization',
    wrapModelCall(request, next, run) {
      const messages = request.messages.map((written) => {
        const message = written.type === 'system' && !trustSystem ? demoteSystemMessage(written) : written;
        if (!isFromClient(message)) return message;
        const known = sent.get(written);
        if (known !== undefined) return known;
        const { text, block } = partsOf(message);
        const defused = defuseFrameworkTags(text);
        if (defused !== text) run.recordDecision('input-sanitization', 'defused');
        const made =
          textOf(text).trim() === '' ? message : { ...message, content: joinContent(block, wrapInMarkers(defused)) };
        sent.set(written, made);
        return made;
      });
      return next({ ...request, messages });
    },
  };
}

const demoteSystemMessage = ({ id, content }: SystemMessage): HumanMessage => ({
  type: 'human',
  id,
  content,
  additional_kwargs: {},
  response_metadata: {},
});

interface Parts {
  /** The block that the server put in front; usually empty. */
  readonly block: Content;
  readonly text: Content;
}

/**
 * Splits the content at the user's original text. Only the server writes `original_user_content`, so what precedes that
 * text was added by the server.
 */
function partsOf({ content, additional_kwargs }: HumanMessage): Parts {
  const original = additional_kwargs['original_user_content'];
  const from = typeof original === 'string' ? startOf(content, original) : 0;
  return { block: content.slice(0, from), text: content.slice(from) };
}

/** Finds the beginning of the original text, in characters or parts; 0 when the content does not end with it. */
function startOf(content: Content, original: string): number {
  if (typeof content === 'string') return content.endsWith(original) ? content.length - original.length : 0;
  return Math.max(
    content.findIndex((_, at) => textOf(content.slice(at)) === original),
    0,
  );
}

/**
 * Puts the text between the markers. In a list the markers are separate parts; a list without images is joined before
 * it reaches a model.
 */
const wrapInMarkers = (text: Content): Content =>
  typeof text === 'string'
    ? `${BEGIN}\n${text}\n${END}`
    : [{ type: 'text', text: `\n${BEGIN}\n` }, ...text, { type: 'text', text: `\n${END}` }];

function joinContent(block: Content, text: Content): Content {
  if (typeof block === 'string' && typeof text === 'string') return block + text;
  const parts = (content: Content): Exclude<Content, string> =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return [...parts(block), ...parts(text)];
}
