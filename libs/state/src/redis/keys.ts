import { BugError } from '@caribou/contracts';
import type { MemoryJobKey, ThreadKey } from '@caribou/core';
import {
  strict,
  strictAgent,
  hashOf,
  memoryKeys,
  accountKeys,
  accessKeys,
  clientKeys,
  turnKeys,
  modelKeys,
  interruptKeys,
  userTurnKeys,
  timedKeys,
  pendingKey,
  threadFileKeys,
  threadKeys,
} from './key-groups.js';
import type { StoreKeys } from './store-keys.js';

export function storeKeys(prefix: string, { hasFiles = true }: { readonly hasFiles?: boolean } = {}): StoreKeys {
  const user = (userId: string): string => `${prefix}user:${strict(userId)}`;
  const memoryUser = (userId: string) => ({
    due: `${prefix}memory:due`,
    userDue: `${user(userId)}:memory:due`,
    running: `${user(userId)}:memory:running`,
  });
  return {
    pending: pendingKey(prefix),
    turns: turnKeys(prefix),
    turnsOf: (userId) => userTurnKeys(user(userId)),
    erasing: hasFiles ? `${prefix}erasing` : undefined,
    ...{ erased: `${prefix}erased`, deadLetters: `${prefix}dead-letters` },
    letters: { records: `${prefix}letters`, times: `${prefix}letters:times` },
    usagePrefix: `${prefix}usage:`,
    ...threadKeys(prefix, user),
    runPrefix: (userId) => `${prefix}run:${strict(userId)}:`,
    eventsPrefix: (userId) => `${prefix}events:${strict(userId)}:`,
    runEvents: (userId, runId) => `${prefix}events:${strict(userId)}:${strict(runId)}`,
    runKwargs: (userId, runId) => `${prefix}run:${strict(userId)}:${strict(runId)}:kwargs`,
    runTrace: (userId, runId) => `${prefix}run:${strict(userId)}:${strict(runId)}:trace`,
    traceTexts: (userId) => ({ texts: `${user(userId)}:trace-texts`, ends: `${user(userId)}:trace-texts:ends` }),
    threadTraceTexts: ({ userId, threadId }) => {
      const texts = `${prefix}thread:${strict(userId)}:${strict(threadId)}:trace-texts`;
      return { texts, ends: `${texts}:ends` };
    },
    executionPrefix: ({ userId, threadId }) => `${prefix}execution:${strict(userId)}:${strict(threadId)}:`,
    ...threadFileKeys(prefix, user),
    conversions: ({ userId, threadId }) => `${prefix}conversions:${strict(userId)}:${strict(threadId)}`,
    agents: (userId) => ({ agents: `${user(userId)}:agents`, souls: `${user(userId)}:souls` }),
    ...clientKeys(prefix, user),
    model: ({ provider, model }) => modelKeys(`${prefix}model:${hashOf(provider, model)}`),
    threads: (userId) => `${user(userId)}:threads`,
    ...timedKeys(prefix),
    idempotency: (userId, key) => `${user(userId)}:idempotency:${key}`,
    interrupted: (userId) => `${user(userId)}:interrupted`,
    ...{
      slots: `${prefix}slots`,
      slotTokens: `${prefix}slots:tokens`,
      slotsServed: `${prefix}slots:served`,
      ...interruptKeys(prefix),
    },
    childThreads: ({ userId, threadId }) => `${prefix}offspring:${strict(userId)}:${strict(threadId)}`,
    probe: `${prefix}probe`,
    volume: `${prefix}volume`,
    audit: `${prefix}audit`,
    memoryQueue: `${prefix}memory:due`,
    memory: (scope) => memoryKeys(prefix, scope),
    memoryJob: ({ userId, threadId }) => ({
      ...memoryUser(userId),
      jobs: `${prefix}thread:${strict(userId)}:${strict(threadId)}:memory`,
    }),
    memoryUser,
    memoryServed: `${prefix}memory:served`,
    memoryAgents: (userId) => `${user(userId)}:memory:agents`,
    memoryDead: (userId) => `${user(userId)}:memory:dead`,
    document: (name) => `${prefix}document:${strict(name)}`,
    token: (name) => `${prefix}token:${strict(name)}`,
    lock: (name) => `${prefix}lock:${hashOf(name)}`,
    accounts: `${prefix}accounts`,
    account: (userId) => accountKeys(prefix, userId),
    ...accessKeys(prefix),
    attempts: (kind, name) => `${prefix}attempts:${hashOf(kind, name)}`,
    requestBucket: (kind, id) => `${prefix}requests:${hashOf(kind, id)}`,
    processes: (role) => ({ ends: `${prefix}processes:${role}`, since: `${prefix}processes:${role}:since` }),
    managers: `${prefix}managers`,
    managerPrefix: `${prefix}manager:`,
    manager: (managerId) => `${prefix}manager:${strict(managerId)}`,
    managerSeenPrefix: `${prefix}manager-seen:`,
    managerSeen: (managerId) => `${prefix}manager-seen:${strict(managerId)}`,
  };
}

/** A thread as a member of the pending set. */
export const pendingMember = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/** A thread and the agent that spoke in it, as a member of `memoryQueue`. */
export const memoryMember = (thread: ThreadKey, agent: string): string =>
  `${pendingMember(thread)}/${strictAgent(agent)}`;

/** Parses a result of `memoryMember`. @throws {BugError} for another text */
export function parseMemoryMember(member: string): MemoryJobKey {
  const [userId, threadId, agent, more] = member.split('/');
  if (userId !== undefined && threadId !== undefined && agent !== undefined && more === undefined)
    return { userId, threadId, agent };
  throw new BugError('malformed member of the memory queue', { details: { member } });
}

export function parsePendingMember(member: string): ThreadKey {
  const border = member.indexOf('/');
  return { userId: member.slice(0, border), threadId: member.slice(border + 1) };
}
