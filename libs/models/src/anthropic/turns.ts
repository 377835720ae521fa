import {
  type AiMessage,
  type HumanMessage,
  isFromClient,
  type Message,
  textOf,
  type ToolMessage,
} from '@caribou/contracts';
import { type AssistantOptions, toAssistantBlocks } from './assistant-blocks.js';
import type { ContentBlock, OpaqueBlock, TextBlock, ToolResultBlock, Turn, UserBlock } from './request-types.js';
import { textBlocks, toContentBlocks } from './user-blocks.js';

export interface TurnOptions extends AssistantOptions {
  /** Whether the model accepts the role `system` behind turns of users. */
  readonly systemMessages: boolean;
}

export interface Conversation {
  readonly system: TextBlock[];
  readonly turns: Turn<OpaqueBlock>[];
}

/** Stands for a message where the endpoint requires one of a user. */
const CONTINUE: TextBlock = { type: 'text', text: 'Continue.' };
const NO_RESULT: TextBlock = { type: 'text', text: 'This call has no result: it was interrupted.' };

/**
 * Converts a conversation to turns: users and assistant alternate, a user begins and ends it, and the results of an answer's calls
 * are the first blocks behind it, each call with one (pages "Messages" and "Handle tool calls", platform.claude.com, November 2026).
 */
export function toConversation(system: string, messages: readonly Message[], options: TurnOptions): Conversation {
  const builder = new TurnBuilder(system, options);
  for (const message of messages) builder.add(message);
  return builder.end();
}

class TurnBuilder {
  readonly #options: TurnOptions;
  readonly #system: TextBlock[];
  readonly #turns: Turn<OpaqueBlock>[] = [];
  /** The turn of the user that is not closed yet. */
  #results: ToolResultBlock[] = [];
  #blocks: UserBlock[] = [];
  #waitingSystem: string[] = [];
  /** Calls without a result, from their id in the message to the one in the request. */
  readonly #openCalls = new Map<string, string>();

  constructor(system: string, options: TurnOptions) {
    this.#options = options;
    this.#system = textBlocks(system);
  }

  add(message: Message): void {
    switch (message.type) {
      case 'system':
        this.#addSystem(textOf(message.content));
        break;
      case 'human':
        this.#blocks.push(...fromHuman(message));
        break;
      case 'tool':
        this.#addResult(message);
        break;
      case 'ai':
        this.#addAnswer(message);
        break;
    }
  }

  end(): Conversation {
    const last = this.#turns.at(-1);
    const isOpen = this.#blocks.length + this.#results.length + this.#openCalls.size > 0;
    if (!isOpen && last?.role !== 'user') this.#blocks.push(CONTINUE);
    this.#closeUserTurn();
    return { system: this.#system, turns: this.#turns };
  }

  /** A system message behind the first turn would change the beginning of each later request, so it stays there if it can. */
  #addSystem(text: string): void {
    const isFirst = this.#turns.length + this.#blocks.length === 0;
    if (isFirst || !this.#options.systemMessages) this.#system.push(...textBlocks(text));
    else if (text.trim() !== '') this.#waitingSystem.push(text);
  }

  #addResult(message: ToolMessage): void {
    const id = this.#openCalls.get(message.tool_call_id);
    if (id === undefined) {
      this.#blocks.push(...labelled(`Result of ${message.name}`, message));
      return;
    }
    this.#openCalls.delete(message.tool_call_id);
    const isError = message.status === 'error';
    // The content of an error may be text only.
    const content = isError ? textBlocks(textOf(message.content)) : toContentBlocks(message.content);
    this.#results.push({
      type: 'tool_result',
      tool_use_id: id,
      ...(content.length === 0 ? {} : { content }),
      ...(isError ? { is_error: true } : {}),
    });
  }

  #addAnswer(message: AiMessage): void {
    const { blocks, callIds } = toAssistantBlocks(message, this.#options);
    if (blocks.length === 0) return;
    if (this.#turns.length === 0 && this.#blocks.length === 0) this.#blocks.push(CONTINUE);
    this.#closeUserTurn();
    const last = this.#turns.at(-1);
    if (last?.role === 'assistant') last.content.push(...blocks);
    else this.#turns.push({ role: 'assistant', content: blocks });
    for (const [ours, theirs] of callIds) this.#openCalls.set(ours, theirs);
  }

  #closeUserTurn(): void {
    for (const id of this.#openCalls.values())
      this.#results.push({ type: 'tool_result', tool_use_id: id, content: [NO_RESULT], is_error: true });
    this.#openCalls.clear();
    const content = [...this.#results, ...this.#blocks];
    if (content.length === 0) return;
    this.#turns.push({ role: 'user', content });
    if (this.#waitingSystem.length > 0)
      this.#turns.push({ role: 'system', content: [{ type: 'text', text: this.#waitingSystem.join('\n\n') }] });
    this.#results = [];
    this.#blocks = [];
    this.#waitingSystem = [];
  }
}

/**
 * Messages have no name at this endpoint, so that it becomes part of the text: that of a user in front of it, and that of a reminder of
 * a middleware as a tag around it, unless the reminder has one.
 */
function fromHuman(message: HumanMessage): UserBlock[] {
  const { name, content } = message;
  if (typeof name !== 'string' || name === 'user-input' || !/^[\w-]{1,64}$/.test(name)) return toContentBlocks(content);
  return isFromClient(message) ? labelled(name, message) : toContentBlocks(content).map((block) => tagged(name, block));
}

const tagged = (name: string, block: ContentBlock): ContentBlock =>
  block.type !== 'text' || /^\s*<([\w-]+)>[^]*<\/\1>\s*$/.test(block.text)
    ? block
    : { ...block, text: `<${name}>\n${block.text}\n</${name}>` };

function labelled(label: string, { content }: HumanMessage | ToolMessage): UserBlock[] {
  const blocks = toContentBlocks(content);
  const [first, ...others] = blocks;
  if (first === undefined) return [];
  return first.type === 'text'
    ? [{ ...first, text: `[${label}] ${first.text}` }, ...others]
    : [{ type: 'text', text: `[${label}]` }, ...blocks];
}
