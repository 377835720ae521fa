import { createHash } from 'node:crypto';
import { InvalidRequestError, MemoryAgent, UserId } from '@caribou/contracts';
import type { MemoryScope } from '@caribou/core';
import type { StoreKeys } from './store-keys.js';
import type {
  AccountKeys,
  ItemKeys,
  MemoryKeys,
  ModelKeys,
  TurnKeys,
  UserTurnKeys,
  CronKeys,
  DelayedKeys,
  OutboxKeys,
} from './script-keys.js';

/** Ids are checked here once more: a ":" in one would let it name another owner's key. */
export function strict(id: string): string {
  if (!UserId.safeParse(id).success) throw new InvalidRequestError('an id must be 1 to 64 letters, digits, "_" or "-"');
  return id;
}

export function strictAgent(agent: string): string {
  if (MemoryAgent.safeParse(agent).success) return agent;
  throw new InvalidRequestError('agent: must be 1 to 64 letters, digits, "_" or "-"', { details: { field: 'agent' } });
}

/** Hashes names of models and their hosts, which may contain any characters. */
export const hashOf = (...names: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 32);

/** The keys of an agent's memory of a user. */
export function memoryKeys(prefix: string, { userId, agent }: MemoryScope): MemoryKeys {
  const base = `${prefix}memory:${strict(userId)}:${strictAgent(agent)}`;
  return {
    record: base,
    history: `${base}:history`,
    agents: `${prefix}user:${strict(userId)}:memory:agents`,
    reports: `${base}:reports`,
    quarantine0: `${base}:aside:0`,
    quarantine1: `${base}:aside:1`,
    quarantine2: `${base}:aside:2`,
  };
}

export function accountKeys(prefix: string, userId: string): AccountKeys {
  const record = `${prefix}account:${strict(userId)}`;
  return { record, sessions: `${record}:sessions` };
}

/** The keys of all accounts and API keys of an installation. */
export const accessKeys = (
  prefix: string,
): Pick<StoreKeys, 'accountPrefix' | 'accountOrder' | 'administrators' | 'apiKeys'> => ({
  accountPrefix: `${prefix}account:`,
  accountOrder: `${prefix}accounts:order`,
  administrators: `${prefix}accounts:administrators`,
  apiKeys: {
    records: `${prefix}api-keys`,
    digests: `${prefix}api-keys:digests`,
    order: `${prefix}api-keys:order`,
    used: `${prefix}api-keys:used`,
  },
});

/** The keys of what a user and the clients of a user store beside threads and runs. */
export const clientKeys = (
  prefix: string,
  user: (userId: string) => string,
): Pick<StoreKeys, 'assistants' | 'items' | 'feedback' | 'skills' | 'profile'> => ({
  skills: (userId) => `${user(userId)}:skills`,
  profile: (userId) => `${user(userId)}:profile`,
  feedback: ({ userId, threadId }) => `${prefix}thread:${strict(userId)}:${strict(threadId)}:feedback`,
  assistants: (userId) => ({ heads: `${user(userId)}:assistants`, versions: `${user(userId)}:assistant-versions` }),
  items: (userId) => itemKeys(`${user(userId)}:items`),
});

export const itemKeys = (items: string): ItemKeys => ({
  items,
  written: `${items}:written`,
  expiries: `${items}:expiries`,
  bytes: `${items}:bytes`,
  vectors: `${items}:vectors`,
});

export const turnKeys = (prefix: string): TurnKeys => ({
  ready: `${prefix}turns:ready`,
  capped: `${prefix}turns:capped`,
  users: `${prefix}user:`,
  threads: `${prefix}thread:`,
});

export const modelKeys = (base: string): ModelKeys => ({
  circuit: `${base}:circuit`,
  slots: `${base}:slots`,
  queue: `${base}:queue`,
  waiting: `${base}:waiting`,
  turns: `${base}:turns`,
});

export const interruptKeys = (prefix: string) => ({
  interruptsDue: `${prefix}interrupts:due`,
  interruptsWaiting: `${prefix}interrupts:waiting`,
});

export const userTurnKeys = (user: string): UserTurnKeys => ({
  waiting: `${user}:waiting`,
  running: `${user}:running`,
});

export const delayedKeys = (prefix: string, owner: string): DelayedKeys => ({
  all: `${prefix}delayed`,
  user: `${owner}:delayed`,
});

export const cronKeys = (prefix: string, userId: string, cronId: string): CronKeys => ({
  record: `${prefix}cron:${strict(userId)}:${strict(cronId)}`,
  runs: `${prefix}cron:${strict(userId)}:${strict(cronId)}:runs`,
  ofUser: `${prefix}user:${strict(userId)}:crons`,
  due: `${prefix}crons:due`,
});

export const outboxKeys = (prefix: string, userId: string): OutboxKeys => ({
  all: `${prefix}outbox`,
  users: `${prefix}outbox:users`,
  waiting: `${prefix}user:${strict(userId)}:outbox`,
  running: `${prefix}user:${strict(userId)}:outbox:running`,
  failed: `${prefix}user:${strict(userId)}:outbox:failed`,
  events: `${prefix}outbox:event:${strict(userId)}:`,
});

type TimedKeys = Pick<StoreKeys, 'delayedRuns' | 'cron' | 'cronPrefix' | 'outbox' | 'outboxPrefixes'>;

/** Keys of what happens at a time or after a run. */
export const timedKeys = (prefix: string): TimedKeys => ({
  delayedRuns: (userId) => delayedKeys(prefix, `${prefix}user:${strict(userId)}`),
  cron: (userId, cronId) => cronKeys(prefix, userId, cronId),
  cronPrefix: `${prefix}cron:`,
  outbox: (userId) => outboxKeys(prefix, userId),
  outboxPrefixes: {
    users: `${prefix}user:`,
    events: `${prefix}outbox:event:`,
    hosts: `${prefix}outbox:host:`,
  },
});

/** Sorted set of all users: the threads with pending runs. */
export const pendingKey = (prefix: string): string => `${prefix}pending`;

/** The keys of a thread, and those that scripts on it take. */
export const threadKeys = (
  prefix: string,
  user: (userId: string) => string,
): Pick<StoreKeys, 'thread' | 'threadScript'> => ({
  thread: ({ userId, threadId }) => {
    const base = `${prefix}thread:${strict(userId)}:${strict(threadId)}`;
    const owner = user(userId);
    return {
      record: base,
      log: `${base}:log`,
      checkpoints: `${base}:checkpoints`,
      order: `${base}:order`,
      bases: `${base}:bases`,
      runs: `${base}:runs`,
      inbox: `${base}:inbox`,
      lease: `${base}:lease`,
      pending: pendingKey(prefix),
      threads: `${owner}:threads`,
      inFlight: `${owner}:in-flight`,
      sandbox: `${base}:sandbox`,
      executions: `${base}:executions`,
      usage: `${base}:usage`,
      feed: `${base}:feed`,
      owner: `${base}:owner`,
      stored: `${owner}:stored`,
    };
  },
  threadScript: ({ userId, threadId }) => {
    const record = `${prefix}thread:${strict(userId)}:${strict(threadId)}`;
    const owner = user(userId);
    return [record, pendingKey(prefix), `${owner}:threads`, `${owner}:in-flight`, `${owner}:stored`];
  },
});

/** Keys of a thread that are named inside scripts, too: by the key of its record and these endings. */
export const threadFileKeys = (
  prefix: string,
  user: (userId: string) => string,
): Pick<StoreKeys, 'files' | 'unpublished' | 'steering' | 'followed'> => ({
  files: ({ userId, threadId }) => ({
    generations: `${prefix}thread:${strict(userId)}:${strict(threadId)}:files`,
    filed: `${user(userId)}:filed`,
  }),
  unpublished: (machine) => `${prefix}unpublished:${strict(machine)}`,
  steering: ({ userId, threadId }) => `${prefix}thread:${strict(userId)}:${strict(threadId)}:steering`,
  followed: ({ userId, threadId }) => `${prefix}thread:${strict(userId)}:${strict(threadId)}:followed`,
});
