import {
  type Content,
  type HumanMessage,
  isFromClient,
  type Message,
  type SystemMessage,
  textOf,
} from '@caribou/contracts';
import { type AgentMiddleware, defuseFrameworkTags } from '@caribou/core';

/** The lines around a person's words. The tag is one of the framework's, so the words cannot hold it. */
const BEGIN = '<user_input>';
const END = '</user_input>';

export interface InputSanitizationOptions {
  /** System messages of clients join the system prompt as they are; else they are shown as words of the person. */
  readonly trustSystem?: boolean;
}

/**
 * In what the model is sent, a person's words stand between two lines that say so, and the framework's tags in them are
 * defused. A block that `uploads` put in front of the words stays as it is. A system message of a client is sent as such words
 * too, unless clients are trusted. The thread keeps what was written.
 */
export function inputSanitization({ trustSystem = false }: InputSanitizationOptions = {}): AgentMiddleware {
  // Messages of the thread are never changed, so each is looked at once per run.
  const sent = new WeakMap<Message, Message>();
  return {
    name: 'input-sanitization',
    wrapModelCall(request, next, run) {
      const messages = request.messages.map((written) => {
        const message = written.type === 'system' && !trustSystem ? demoted(written) : written;
        if (!isFromClient(message)) return message;
        const known = sent.get(written);
        if (known !== undefined) return known;
        const { words, block } = partsOf(message);
        const defused = defuseFrameworkTags(words);
        if (defused !== words) run.decided('input-sanitization', 'defused');
        const made = textOf(words).trim() === '' ? message : { ...message, content: joined(block, marked(defused)) };
        sent.set(written, made);
        return made;
      });
      return next({ ...request, messages });
    },
  };
}

const demoted = ({ id, content }: SystemMessage): HumanMessage => ({
  type: 'human',
  id,
  content,
  additional_kwargs: {},
  response_metadata: {},
});

interface Parts {
  /** What the server put in front; empty in most messages. */
  readonly block: Content;
  readonly words: Content;
}

/** Only the server writes `original_user_content`: what stands before that text is its own. */
function partsOf({ content, additional_kwargs }: HumanMessage): Parts {
  const original = additional_kwargs['original_user_content'];
  const from = typeof original === 'string' ? startOf(content, original) : 0;
  return { block: content.slice(0, from), words: content.slice(from) };
}

/** Where the original words begin, in characters or parts; 0 when the content does not end with them. */
function startOf(content: Content, original: string): number {
  if (typeof content === 'string') return content.endsWith(original) ? content.length - original.length : 0;
  return Math.max(
    content.findIndex((_, at) => textOf(content.slice(at)) === original),
    0,
  );
}

/** In a list the lines are parts of their own; the parts of a list without images are joined on their way to a model. */
const marked = (words: Content): Content =>
  typeof words === 'string'
    ? `${BEGIN}\n${words}\n${END}`
    : [{ type: 'text', text: `\n${BEGIN}\n` }, ...words, { type: 'text', text: `\n${END}` }];

function joined(block: Content, words: Content): Content {
  if (typeof block === 'string' && typeof words === 'string') return block + words;
  const parts = (content: Content): Exclude<Content, string> =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return [...parts(block), ...parts(words)];
}
