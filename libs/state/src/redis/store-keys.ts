import type { MemoryScope, ModelEndpoint, ThreadKey } from '@caribou/core';
import type {
  AccountKeys,
  AgentKeys,
  ApiKeyKeys,
  CronKeys,
  DelayedKeys,
  AssistantKeys,
  ItemKeys,
  MemoryJobKeys,
  MemoryKeys,
  ModelKeys,
  OutboxKeys,
  ProcessKeys,
  ThreadKeys,
  TraceTextKeys,
  TurnKeys,
  UserTurnKeys,
} from './script-keys.js';

/** The names of everything in Redis. */
export interface StoreKeys {
  thread(thread: ThreadKey): ThreadKeys;
  /** The keys of the thread that every script on a thread takes first: `record`, `pending`, `threads`, `inFlight`, `stored`. */
  threadScript(thread: ThreadKey): readonly string[];
  /** Run records and event logs are named inside scripts, by prefix and run id. */
  runPrefix(userId: string): string;
  eventsPrefix(userId: string): string;
  runEvents(userId: string, runId: string): string;
  /** String: a run's kwargs as JSON; it expires after the end of the run. */
  runKwargs(userId: string, runId: string): string;
  /** List: what happened in a run (traces/trace.lua); it expires after the end of the run. */
  runTrace(userId: string, runId: string): string;
  /** System prompts, lists of tools, contexts of threads. */
  traceTexts(userId: string): TraceTextKeys;
  /** Other messages that the chain added or changed. */
  threadTraceTexts(thread: ThreadKey): TraceTextKeys;
  executionPrefix(thread: ThreadKey): string;
  /** Hash: the generations of a thread's files (files/generations.lua); and the user's threads that have files, a sorted set. */
  files(thread: ThreadKey): { readonly generations: string; readonly filed: string };
  /** Sorted set: threads (`<user>/<thread>`) with changes of files that a machine has not stored; some of them may be stored by now. */
  unpublished(machine: string): string;
  /** List: messages that wait to join the thread's run; named inside scripts (steering/waiting-list.lua). */
  steering(thread: ThreadKey): string;
  /** String with a deadline: there while a stream follows the thread, which need not exist yet. */
  followed(thread: ThreadKey): string;
  /**
   * Hash: the uploads of a thread: `r:<file>` the record of a conversion, `l:<file>` its lease, `n:<file>` the number of an
   * upload, `n` the newest number.
   */
  conversions(thread: ThreadKey): string;
  /** Hash: the skills that the user switched or installed. */
  skills(userId: string): string;
  agents(userId: string): AgentKeys;
  assistants(userId: string): AssistantKeys;
  items(userId: string): ItemKeys;
  /** Hash: the feedback on the runs of a thread. */
  feedback(thread: ThreadKey): string;
  /** String: the user's profile for all agents. */
  profile(userId: string): string;
  model(endpoint: ModelEndpoint): ModelKeys;
  threads(userId: string): string;
  delayedRuns(userId: string): DelayedKeys;
  cron(userId: string, cronId: string): CronKeys;
  /** Prefix of the records of crons, completed by `<user>:<cron>`. */
  readonly cronPrefix: string;
  outbox(userId: string): OutboxKeys;
  /** Prefixes of keys that scripts of the outbox name: of users, of events (`<user>:<event>`), of hosts. */
  readonly outboxPrefixes: { readonly users: string; readonly events: string; readonly hosts: string };
  idempotency(userId: string, key: string): string;
  /** String: the id of the data volume that the files of threads lie on. */
  readonly volume: string;
  /** String with a deadline that services write to see whether Redis takes writes. */
  readonly probe: string;
  /** The stream of audit lines. */
  readonly audit: string;
  /** Sorted set: managers by the end of their leases in ms; those of the last minute too. */
  readonly managers: string;
  readonly managerPrefix: string;
  manager(managerId: string): string;
  readonly managerSeenPrefix: string;
  /** String with a deadline: how often the manager has renewed its lease; absent once it released the lease. */
  managerSeen(managerId: string): string;
  /** The leases of the processes that execute runs, or that read threads for memory. */
  processes(role: 'runs' | 'memory'): ProcessKeys;
  readonly pending: string;
  /** The queue of threads that wait for a slot of a runner, and the beginnings of the keys that its scripts name. */
  readonly turns: TurnKeys;
  turnsOf(userId: string): UserTurnKeys;
  /**
   * Hash: deleted threads (`<user>/<thread>`) and users whose files are not moved aside yet, with a token of the deletion.
   * Absent in parts of the store whose threads have no files.
   */
  readonly erasing: string | undefined;
  /** Sorted set: names of moved directories, by when they are due for removal. */
  readonly erased: string;
  /** List: dead letters that are not on the bus yet, oldest first. */
  readonly deadLetters: string;
  /** Dead letters that administrators list: a hash, id → JSON, and a sorted set, id → ms (letters/letters.lua). */
  readonly letters: { readonly records: string; readonly times: string };
  /**
   * Beginning of the keys of usage: `<user>:<day>` is a hash, see usage/ledger.lua, `users:<day>` the set of the users of
   * that day. Tasks enter theirs under the keys of the threads that dispatch them.
   */
  readonly usagePrefix: string;
  /** Sorted set: the user's threads that wait for answers, by the time since when. */
  interrupted(userId: string): string;
  /** Sorted set of all users: threads with an interrupt that has a deadline, by the first one. */
  readonly interruptsDue: string;
  /** Sorted set of all users: threads that wait for answers, by the time since when. */
  readonly interruptsWaiting: string;
  /** Sorted set of all users: threads with a slot, by the end of its lease. */
  readonly slots: string;
  /** Hash: thread → token of the holder of its slot. */
  readonly slotTokens: string;
  /** Sorted set: users by the time at which one of their tasks got a slot last. */
  readonly slotsServed: string;
  /** Sorted set: the threads that were created for a thread of another part of the store, by time of creation. */
  childThreads(parent: ThreadKey): string;
  /** Sorted set of all users: threads with messages that memory extraction has not read. */
  readonly memoryQueue: string;
  memory(scope: MemoryScope): MemoryKeys;
  memoryJob(thread: ThreadKey): MemoryJobKeys;
  /** Sorted set: users by the time at which a worker took one of their threads last. */
  readonly memoryServed: string;
  /** The first three of `memoryJob`, which are the same for all threads of a user. */
  memoryUser(userId: string): Omit<MemoryJobKeys, 'jobs'>;
  /** Set: agents with a memory of this user. */
  memoryAgents(userId: string): string;
  /** List: the user's failed extractions, newest first. */
  memoryDead(userId: string): string;
  /** Hash: a document of the whole installation, `version` and `value`. */
  document(name: string): string;
  /** Hash: an access token of the whole installation, `record` and `lock`. */
  token(name: string): string;
  /** String with a deadline: the holder of the lock. */
  lock(name: string): string;
  /** Hash: e-mail → user id, of all accounts. */
  readonly accounts: string;
  account(userId: string): AccountKeys;
  /** Prefix of the records of accounts, completed by the user id. */
  readonly accountPrefix: string;
  /** Sorted set: user ids of accounts by the time of their creation. */
  readonly accountOrder: string;
  /** Set: user ids of accounts that are or were administrators'; their records decide. */
  readonly administrators: string;
  readonly apiKeys: ApiKeyKeys;
  /** String with a deadline: how many attempts there were. */
  attempts(kind: string, name: string): string;
  /** Hash with a deadline: tokens for requests of a user or an API key, `level` and `at`. */
  requestBucket(kind: string, id: string): string;
}
