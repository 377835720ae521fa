import { Injectable } from '@nestjs/common';
import {
  type HumanMessage,
  type InputMessage,
  InvalidRequestError,
  isRecord,
  type Message,
  openQuestionsIn,
  type RunCreate,
  type RunInputMessage,
  type RunKwargs,
  startCheckpointOf,
  type SystemMessage,
  textOf,
} from '@caribou/contracts';
import { answerableCalls, type ThreadKey } from '@caribou/core';
import { Dependency } from '../dependency.js';
import type { Decided } from './decision-lines.js';
import { KnownThread, type KnownThreadStore } from './known-thread.js';
import { type CommandSender, type CommandStore, resolveCommand, type ResolvedCommand } from './run-commands.js';
import {
  toClientAnswer,
  isReturned,
  isSameMessage,
  isUnchanged,
  type Returned,
  showsChannel,
} from './returned-input.js';

/** The request of a run: its input contains only what the client may write, its command the answers by interrupt. */
export type ResolvedRun = Omit<RunCreate, 'input' | 'command'> & Pick<RunKwargs, 'input'> & Partial<ResolvedCommand>;

type AskedRun = Omit<RunCreate, 'command'>;

const withoutCommand = ({ command: _none, ...body }: RunCreate): AskedRun => body;

/**
 * Checks the inputs of runs against their threads. Clients may send the whole state back, including what only the
 * server writes: such values are removed when they are unchanged, and refused when they are changed.
 */
@Injectable()
export class RunInputs {
  constructor(@Dependency('threadStore') private readonly store: KnownThreadStore & CommandStore) {}

  /**
   * @throws {InvalidRequestError} naming what the client tried to change
   * @throws what `resolveCommand` throws
   */
  async resolve(key: ThreadKey, asked: RunCreate, sender: CommandSender): Promise<ResolvedRun> {
    const { command: given } = asked;
    const body = given === undefined ? (asked as AskedRun) : withoutCommand(asked);
    if (body.input === undefined || body.input === null) {
      const resolved = given ? await resolveCommand(this.store, { key, command: given, sender }) : {};
      return { ...body, input: null, ...resolved };
    }
    if (given) throw inputBesideCommand();
    const { returned, messages, ...channels } = body.input;
    const thread = new KnownThread(this.store, key, startCheckpointOf(body));
    await refuseChanged(returned, thread);
    if (messages === undefined) return { ...body, input: channels };
    const own = await selectOwnMessages(messages, thread);
    return { ...body, input: { ...channels, messages: own }, decided: await answeredQuestions(own, thread) };
  }
}

/** The open questions that messages of a web client answer; the state is read only for a message that names one. */
async function answeredQuestions(own: readonly RunInputMessage[], thread: KnownThread): Promise<readonly Decided[]> {
  const answers = new Map<unknown, unknown>();
  for (const { type, content, additional_kwargs: kwargs } of own) {
    const response = kwargs['human_input_response'];
    if (type === 'human' && isRecord(response)) answers.set(response['request_id'], textOf(content));
  }
  if (answers.size === 0) return [];
  const questions = openQuestionsIn((await thread.readBaseState()).messages);
  return questions.flatMap((question) =>
    answers.has(question.requestId) ? [{ question, answer: answers.get(question.requestId) }] : [],
  );
}

const inputBesideCommand = (): InvalidRequestError =>
  new InvalidRequestError(
    'command: a request has a command or an input, not both; send the input null, and new messages in command.update',
    { details: { field: 'command' } },
  );

async function refuseChanged(returned: Readonly<Record<string, unknown>>, thread: KnownThread): Promise<void> {
  for (const [name, value] of Object.entries(returned)) {
    if (showsChannel(await thread.readBaseState(), name, value)) continue;
    if ((await thread.readEarlierStates()).some((state) => showsChannel(state, name, value))) continue;
    throw new InvalidRequestError(
      `input.${name}: is written by the server only; send it back as it was, or leave it out`,
    );
  }
}

/** The messages that the client may write: its own, and its answers to open calls. */
async function selectOwnMessages(messages: readonly InputMessage[], thread: KnownThread): Promise<RunInputMessage[]> {
  if (!messages.some(isReturned)) return messages.filter((message) => !isReturned(message));
  const base = (await thread.readBaseState()).messages;
  const open = new Map(answerableCalls(base));
  const own: RunInputMessage[] = [];
  /** Number of the client's own messages before the last message that it sent back. */
  let transcript = 0;
  for (const [index, message] of messages.entries()) {
    if (!isReturned(message)) own.push(message);
    else if (await isHeld(message, base, thread)) transcript = own.length;
    else if (message.type === 'tool' && (await isFree(message, base, thread)) && open.has(message.tool_call_id)) {
      own.push(toClientAnswer(message, open.get(message.tool_call_id) ?? ''));
      open.delete(message.tool_call_id);
    } else throw createRefusal(message, index);
  }
  return await withoutTranscript(own, transcript, thread);
}

/** Whether the thread has or had the message with the same content. */
async function isHeld(message: Returned, base: readonly Message[], thread: KnownThread): Promise<boolean> {
  if (base.some((stored) => isSameMessage(stored, message) && isUnchanged(stored, message))) return true;
  if (message.type === 'tool' && answerableCalls(base).has(message.tool_call_id)) return false;
  const earlier = await thread.readEarlierMessages();
  return earlier.some((stored) => isSameMessage(stored, message) && isUnchanged(stored, message));
}

/** Whether no message of the thread has the id; such a message would be replaced. */
async function isFree({ id }: Returned, base: readonly Message[], thread: KnownThread): Promise<boolean> {
  if (id === undefined || id === null || id === '') return true;
  return ![...base, ...(await thread.readEarlierMessages())].some((stored) => stored.id === id);
}

function createRefusal({ type }: Returned, index: number): InvalidRequestError {
  const rule =
    type === 'ai'
      ? 'answers of the model are written by the server only; send one back as it was, or leave it out'
      : 'a tool message must answer an open call of the last answer, or be sent back as it was';
  return new InvalidRequestError(`input.messages.${index}: ${rule}`);
}

/** Removes user messages that precede returned answers and that the thread already had, because they are not new. */
async function withoutTranscript(
  own: readonly RunInputMessage[],
  transcript: number,
  thread: KnownThread,
): Promise<RunInputMessage[]> {
  if (transcript === 0) return [...own];
  const base = (await thread.readBaseState()).messages;
  const earlier = await thread.readEarlierMessages();
  const isOld = (message: RunInputMessage, index: number): boolean =>
    index < transcript &&
    message.type !== 'tool' &&
    !base.some(({ id }) => id === message.id) &&
    earlier.some((stored) => isSameText(stored, message));
  return own.filter((message, index) => !isOld(message, index));
}

const isSameText = (stored: Message, message: HumanMessage | SystemMessage): boolean =>
  stored.id === message.id && stored.type === message.type && textOf(stored.content) === textOf(message.content);
