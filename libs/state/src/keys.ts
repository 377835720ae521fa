import { createHash } from 'node:crypto';
import { BugError, InvalidRequestError, MemoryAgent, UserId } from '@caribou/contracts';
import type { MemoryJobKey, MemoryScope, ModelEndpoint, ThreadKey } from '@caribou/core';

/**
 * The keys of one thread in the order in which every script on a thread takes them; `commands/thread.lua` names them
 * again. The owner is part of every key.
 */
export interface ThreadKeys {
  /** Hash: the thread record. */
  readonly record: string;
  /** Hash: numbered, immutable messages (`<n>`) and channel values (`c<n>`). */
  readonly log: string;
  /** Hash: checkpoint id → JSON. */
  readonly checkpoints: string;
  /** Sorted set, all scores 0: checkpoint ids by age. */
  readonly order: string;
  /** Hash: checkpoint id → how many runs start from it. */
  readonly bases: string;
  /** Sorted set: run ids by their number in the thread. */
  readonly runs: string;
  /** List: ids of queued runs, oldest first. */
  readonly inbox: string;
  /** String with a deadline: `<owner id>:<epoch>`. */
  readonly lease: string;
  /** Sorted set of all users: threads with something to run, by the time they got it. */
  readonly pending: string;
  /** Sorted set: the user's threads by `updated_at`. */
  readonly threads: string;
  /** Set: the user's runs that are not over. */
  readonly inFlight: string;
  /** Hash: the thread's sandbox binding. */
  readonly sandbox: string;
  /** Set: keys of the thread's execution journal. */
  readonly executions: string;
  /** Hash: tokens of the thread's runs, and of those that are gone. */
  readonly usage: string;
  /** Hash: the messages that people see, by number. */
  readonly feed: string;
}

/** The keys of one model in the order in which every script on it takes them. */
export interface ModelKeys {
  /** Hash: the circuit. */
  readonly circuit: string;
  /** Sorted set: tokens of calls under way, by the end of their lease. */
  readonly slots: string;
  /** Sorted set: tokens of those who wait for a slot, by arrival. */
  readonly queue: string;
  /** Sorted set: the same tokens, by the time until which they count as waiting. */
  readonly waiting: string;
}

/** The keys of one memory in the order in which every script on it takes them; `commands/memory-record.lua` names them again. */
export interface MemoryKeys {
  /** Hash: document, revision, era. */
  readonly record: string;
  /** List: changes, newest first. */
  readonly history: string;
  /** Set: agents with a memory of this user. */
  readonly agents: string;
  /** List: what is told of records that were moved aside, newest first. */
  readonly reports: string;
  /** Records that were moved aside, the last one first; of whatever type they were. */
  readonly aside0: string;
  readonly aside1: string;
  readonly aside2: string;
}

/** The keys of a thread's extraction in the order in which every script on it takes them; `commands/memory-job.lua` names them again. */
export interface MemoryJobKeys {
  /** Sorted set of all users: jobs by when they count as quiet since. */
  readonly due: string;
  /** Sorted set: the user's jobs by when the last words were said. */
  readonly userDue: string;
  /** Sorted set: the user's jobs that a worker is at, by the end of its lease. */
  readonly running: string;
  /** Hash: the thread's jobs, fields by agent. */
  readonly jobs: string;
}

/** The keys of one account in the order in which every script on it takes them. */
export interface AccountKeys {
  /** Hash: `email`, `admin`, `password`. */
  readonly record: string;
  /** Hash with a deadline: digest → `<opened ms>:<ends ms>:<remembered>`. */
  readonly sessions: string;
}

/** The keys of a user's custom agents in the order in which every script on them takes them. */
export interface AgentKeys {
  /** Hash: name → JSON of all but the soul; begins with its version and when it was made. */
  readonly agents: string;
  /** Hash: `s:<name>` the soul, `c:<name>` keys of the last calls that wrote it. */
  readonly souls: string;
}

export interface StoreKeys {
  thread(thread: ThreadKey): ThreadKeys;
  /** Run records and event logs are named inside scripts, by prefix and run id. */
  runPrefix(userId: string): string;
  eventsPrefix(userId: string): string;
  runEvents(userId: string, runId: string): string;
  executionPrefix(thread: ThreadKey): string;
  /** Hash: the conversions of a thread's uploads, `r:<file>` the record and `l:<file>` who is at it. */
  conversions(thread: ThreadKey): string;
  /** Hash: what the user changed of skills, and those he installed. */
  skills(userId: string): string;
  agents(userId: string): AgentKeys;
  /** String: what the user tells all his agents of himself. */
  profile(userId: string): string;
  model(endpoint: ModelEndpoint): ModelKeys;
  threads(userId: string): string;
  idempotency(userId: string, key: string): string;
  /** The stream of audit lines. */
  readonly audit: string;
  readonly managerPrefix: string;
  manager(managerId: string): string;
  managerSeen(managerId: string): string;
  readonly pending: string;
  /** Sorted set of all users: threads that may be worked on now, by the end of that right. */
  readonly slots: string;
  /** Hash: thread → token of who has its slot. */
  readonly slotTokens: string;
  /** Sorted set: the threads that were made for a thread of another part of the store, by when. */
  offspring(parent: ThreadKey): string;
  /** Sorted set of all users: threads whose last words memory extraction has not looked at. */
  readonly memoryDue: string;
  memory(scope: MemoryScope): MemoryKeys;
  memoryJob(thread: ThreadKey): MemoryJobKeys;
  /** The first three of `memoryJob`, which are the same for all threads of a user. */
  memoryUser(userId: string): Omit<MemoryJobKeys, 'jobs'>;
  /** Set: agents with a memory of this user. */
  memoryAgents(userId: string): string;
  /** List: the user's jobs that were given up, newest first. */
  memoryDead(userId: string): string;
  /** Hash: a document of the whole installation, `version` and `value`. */
  document(name: string): string;
  /** Hash: an access token of the whole installation, `record` and `lock`. */
  token(name: string): string;
  /** Hash: e-mail → user id, of all accounts. */
  readonly accounts: string;
  account(userId: string): AccountKeys;
  /** String with a deadline: how many attempts there were. */
  attempts(kind: string, name: string): string;
}

/** Ids are checked here once more: a ":" in one would let it name another owner's key. */
function strict(id: string): string {
  if (!UserId.safeParse(id).success) throw new InvalidRequestError('an id must be 1 to 64 letters, digits, "_" or "-"');
  return id;
}

function strictAgent(agent: string): string {
  if (MemoryAgent.safeParse(agent).success) return agent;
  throw new InvalidRequestError('agent: must be 1 to 64 letters, digits, "_" or "-"', { details: { field: 'agent' } });
}

/** Names of models and their hosts may hold anything. */
const hashOf = (...names: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 32);

export function storeKeys(prefix: string): StoreKeys {
  const pending = `${prefix}pending`;
  const user = (userId: string): string => `${prefix}user:${strict(userId)}`;
  const memoryUser = (userId: string) => ({
    due: `${prefix}memory:due`,
    userDue: `${user(userId)}:memory:due`,
    running: `${user(userId)}:memory:running`,
  });
  return {
    pending,
    thread: ({ userId, threadId }) => {
      const base = `${prefix}thread:${strict(userId)}:${strict(threadId)}`;
      return {
        record: base,
        log: `${base}:log`,
        checkpoints: `${base}:checkpoints`,
        order: `${base}:order`,
        bases: `${base}:bases`,
        runs: `${base}:runs`,
        inbox: `${base}:inbox`,
        lease: `${base}:lease`,
        pending,
        threads: `${user(userId)}:threads`,
        inFlight: `${user(userId)}:in-flight`,
        sandbox: `${base}:sandbox`,
        executions: `${base}:executions`,
        usage: `${base}:usage`,
        feed: `${base}:feed`,
      };
    },
    runPrefix: (userId) => `${prefix}run:${strict(userId)}:`,
    eventsPrefix: (userId) => `${prefix}events:${strict(userId)}:`,
    runEvents: (userId, runId) => `${prefix}events:${strict(userId)}:${strict(runId)}`,
    executionPrefix: ({ userId, threadId }) => `${prefix}execution:${strict(userId)}:${strict(threadId)}:`,
    conversions: ({ userId, threadId }) => `${prefix}conversions:${strict(userId)}:${strict(threadId)}`,
    skills: (userId) => `${user(userId)}:skills`,
    agents: (userId) => ({ agents: `${user(userId)}:agents`, souls: `${user(userId)}:souls` }),
    profile: (userId) => `${user(userId)}:profile`,
    model: ({ provider, model }) => {
      const base = `${prefix}model:${hashOf(provider, model)}`;
      return { circuit: `${base}:circuit`, slots: `${base}:slots`, queue: `${base}:queue`, waiting: `${base}:waiting` };
    },
    threads: (userId) => `${user(userId)}:threads`,
    idempotency: (userId, key) => `${user(userId)}:idempotency:${key}`,
    slots: `${prefix}slots`,
    slotTokens: `${prefix}slots:tokens`,
    offspring: ({ userId, threadId }) => `${prefix}offspring:${strict(userId)}:${strict(threadId)}`,
    audit: `${prefix}audit`,
    memoryDue: `${prefix}memory:due`,
    memory: ({ userId, agent }) => {
      const base = `${prefix}memory:${strict(userId)}:${strictAgent(agent)}`;
      return {
        record: base,
        history: `${base}:history`,
        agents: `${user(userId)}:memory:agents`,
        reports: `${base}:reports`,
        aside0: `${base}:aside:0`,
        aside1: `${base}:aside:1`,
        aside2: `${base}:aside:2`,
      };
    },
    memoryJob: ({ userId, threadId }) => ({
      ...memoryUser(userId),
      jobs: `${prefix}thread:${strict(userId)}:${strict(threadId)}:memory`,
    }),
    memoryUser,
    memoryAgents: (userId) => `${user(userId)}:memory:agents`,
    memoryDead: (userId) => `${user(userId)}:memory:dead`,
    document: (name) => `${prefix}document:${strict(name)}`,
    token: (name) => `${prefix}token:${strict(name)}`,
    accounts: `${prefix}accounts`,
    account: (userId) => ({
      record: `${prefix}account:${strict(userId)}`,
      sessions: `${prefix}account:${strict(userId)}:sessions`,
    }),
    attempts: (kind, name) => `${prefix}attempts:${hashOf(kind, name)}`,
    managerPrefix: `${prefix}manager:`,
    manager: (managerId) => `${prefix}manager:${strict(managerId)}`,
    managerSeen: (managerId) => `${prefix}manager-seen:${strict(managerId)}`,
  };
}

/** A thread as a member of the pending set. */
export const pendingMember = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

/** A thread and the agent that spoke in it, as a member of `memoryDue`. */
export const memoryMember = (thread: ThreadKey, agent: string): string =>
  `${pendingMember(thread)}/${strictAgent(agent)}`;

/** What `memoryMember` made. @throws {BugError} for another text */
export function parseMemoryMember(member: string): MemoryJobKey {
  const [userId, threadId, agent, more] = member.split('/');
  if (userId !== undefined && threadId !== undefined && agent !== undefined && more === undefined)
    return { userId, threadId, agent };
  throw new BugError('a member of what memory has to look at is no user, thread and agent', { details: { member } });
}

export function parsePendingMember(member: string): ThreadKey {
  const border = member.indexOf('/');
  return { userId: member.slice(0, border), threadId: member.slice(border + 1) };
}
