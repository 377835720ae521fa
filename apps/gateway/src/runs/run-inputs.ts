import { Injectable } from '@nestjs/common';
import {
  type HumanMessage,
  type InputMessage,
  InvalidRequestError,
  type Message,
  type RunCreate,
  type RunInputMessage,
  type RunKwargs,
  startCheckpointOf,
  type SystemMessage,
  textOf,
} from '@caribou/contracts';
import { answerableCalls, type ThreadKey } from '@caribou/core';
import { Dependency } from '../dependency.js';
import { KnownThread, type KnownThreadStore } from './known-thread.js';
import { clientAnswer, isReturned, isSameMessage, isUnchanged, type Returned, showsChannel } from './returned-input.js';

/** A run's request whose input holds only what the client may write. */
export type ResolvedRun = Omit<RunCreate, 'input'> & { readonly input: RunKwargs['input'] };

/**
 * The inputs of runs against the threads they are for. Clients that send their whole state back send what only the
 * server writes as well: unchanged, it is left out; changed, it is refused.
 */
@Injectable()
export class RunInputs {
  constructor(@Dependency('threadStore') private readonly store: KnownThreadStore) {}

  /** @throws {InvalidRequestError} naming what the client tried to change */
  async resolve(key: ThreadKey, body: RunCreate): Promise<ResolvedRun> {
    if (body.input === undefined || body.input === null) return { ...body, input: null };
    const { returned, messages, ...channels } = body.input;
    const thread = new KnownThread(this.store, key, startCheckpointOf(body));
    await refuseChanged(returned, thread);
    if (messages === undefined) return { ...body, input: channels };
    return { ...body, input: { ...channels, messages: await selectOwnMessages(messages, thread) } };
  }
}

async function refuseChanged(returned: Readonly<Record<string, unknown>>, thread: KnownThread): Promise<void> {
  for (const [name, value] of Object.entries(returned)) {
    if (showsChannel(await thread.baseState(), name, value)) continue;
    if ((await thread.earlierStates()).some((state) => showsChannel(state, name, value))) continue;
    throw new InvalidRequestError(
      `input.${name}: is written by the server only; send it back as it was, or leave it out`,
    );
  }
}

/** The messages that the client itself writes: its own, and its answers to calls that have none. */
async function selectOwnMessages(messages: readonly InputMessage[], thread: KnownThread): Promise<RunInputMessage[]> {
  if (!messages.some(isReturned)) return messages.filter((message) => !isReturned(message));
  const base = (await thread.baseState()).messages;
  const open = new Map(answerableCalls(base));
  const own: RunInputMessage[] = [];
  /** Messages of its own before the last one that the client sent back. */
  let transcript = 0;
  for (const [index, message] of messages.entries()) {
    if (!isReturned(message)) own.push(message);
    else if (await isHeld(message, base, thread)) transcript = own.length;
    else if (message.type === 'tool' && (await isFree(message, base, thread)) && open.has(message.tool_call_id)) {
      own.push(clientAnswer(message, open.get(message.tool_call_id) ?? ''));
      open.delete(message.tool_call_id);
    } else throw createRefusal(message, index);
  }
  return await withoutTranscript(own, transcript, thread);
}

/** @throws {InvalidRequestError} when the thread holds the message with another content */
async function isHeld(message: Returned, base: readonly Message[], thread: KnownThread): Promise<boolean> {
  if (base.some((stored) => isSameMessage(stored, message) && isUnchanged(stored, message))) return true;
  if (message.type === 'tool' && answerableCalls(base).has(message.tool_call_id)) return false;
  const earlier = await thread.earlierMessages();
  return earlier.some((stored) => isSameMessage(stored, message) && isUnchanged(stored, message));
}

/** Whether no message of the thread has the id: one that has it would be replaced. */
async function isFree({ id }: Returned, base: readonly Message[], thread: KnownThread): Promise<boolean> {
  if (id === undefined || id === null || id === '') return true;
  return ![...base, ...(await thread.earlierMessages())].some((stored) => stored.id === id);
}

function createRefusal({ type }: Returned, index: number): InvalidRequestError {
  const rule =
    type === 'ai'
      ? 'answers of the model are written by the server only; send one back as it was, or leave it out'
      : 'a tool message must answer an open call of the last answer, or be sent back as it was';
  return new InvalidRequestError(`input.messages.${index}: ${rule}`);
}

/** A person's messages that come back in front of later answers are no new ones when the thread had them already. */
async function withoutTranscript(
  own: readonly RunInputMessage[],
  transcript: number,
  thread: KnownThread,
): Promise<RunInputMessage[]> {
  if (transcript === 0) return [...own];
  const base = (await thread.baseState()).messages;
  const earlier = await thread.earlierMessages();
  const isOld = (message: RunInputMessage, index: number): boolean =>
    index < transcript &&
    message.type !== 'tool' &&
    !base.some(({ id }) => id === message.id) &&
    earlier.some((stored) => isSameText(stored, message));
  return own.filter((message, index) => !isOld(message, index));
}

const isSameText = (stored: Message, message: HumanMessage | SystemMessage): boolean =>
  stored.id === message.id && stored.type === message.type && textOf(stored.content) === textOf(message.content);
