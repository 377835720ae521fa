/**
 * The keys of one thread and of its user. Scripts on a thread take some of them and name the others by the endings that they have here
 * (`includes/thread.lua`). The owner is part of every key.
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
  /** Sorted set of all users: threads with pending runs, by the time since when they have them. */
  readonly pending: string;
  /** Sorted set: the user's threads by `updated_at`. */
  readonly threads: string;
  /** Set: the user's runs that have not ended. */
  readonly inFlight: string;
  /** Hash: the thread's sandbox binding. */
  readonly sandbox: string;
  /** Set: keys of the thread's execution journal. */
  readonly executions: string;
  /** Hash: tokens of the thread's runs, including removed ones. */
  readonly usage: string;
  /** Hash: the messages that users see, by number. */
  readonly feed: string;
  /** String: `<owner id>:<epoch>` of the last claim until it is released; unlike the lease it has no deadline. */
  readonly owner: string;
  /** String: bytes of the inputs and metadata of the user's runs. */
  readonly stored: string;
}

/** The queue of turns; `turns/turn-queue.lua` names them again. */
export interface TurnKeys {
  /** Sorted set: users with waiting threads, by their position in the order. */
  readonly ready: string;
  /** Sorted set: users with all the slots that they may have, by the time of the next look at them. */
  readonly capped: string;
  /** Prefixes of the keys of users and of threads. */
  readonly users: string;
  readonly threads: string;
}

/** The queue of one user. */
export interface UserTurnKeys {
  /** Sorted set: threads by the time since when they wait for a slot. */
  readonly waiting: string;
  /** Sorted set: running threads, by the time until which they count. */
  readonly running: string;
}

/** The keys of one model in the order in which every script on it takes them. */
export interface ModelKeys {
  /** Hash: the circuit. */
  readonly circuit: string;
  /** Sorted set: tokens of calls under way, by the end of their lease. */
  readonly slots: string;
  /** Sorted set: tokens of calls that wait for a slot, by round and arrival. */
  readonly queue: string;
  /** Sorted set: the same tokens, by the time until which they count as waiting. */
  readonly waiting: string;
  /** Hash: user → round of his newest call in the queue. */
  readonly turns: string;
}

/** The keys of one memory in the order in which every script on it takes them; `memory/memory-record.lua` names them again. */
export interface MemoryKeys {
  /** Hash: document, revision, era. */
  readonly record: string;
  /** List: changes, newest first. */
  readonly history: string;
  /** Set: agents with a memory of this user. */
  readonly agents: string;
  /** List: reports of records in quarantine, newest first. */
  readonly reports: string;
  /** Records that could not be read, the newest first; each has the Redis type that it had. */
  readonly quarantine0: string;
  readonly quarantine1: string;
  readonly quarantine2: string;
}

/** The keys of a thread's extraction in the order in which every script on it takes them; `memory/jobs/memory-job.lua` names them again. */
export interface MemoryJobKeys {
  /** Sorted set of all users: jobs by when they count as quiet since. */
  readonly due: string;
  /** Sorted set: the user's jobs by the time of the last message. */
  readonly userDue: string;
  /** Sorted set: the user's jobs that a worker has, by the end of its lease. */
  readonly running: string;
  /** Hash: the thread's jobs, fields by agent. */
  readonly jobs: string;
}

/** Runs of a user that wait for their time; `delayed/delayed.lua` names them again. */
export interface DelayedKeys {
  /** Sorted set of all users: `<user>/<thread>/<run>` → ms when it is due. */
  readonly all: string;
  /** Sorted set: run → ms when it is due. */
  readonly user: string;
}

/** One cron in the order in which its scripts take them. */
export interface CronKeys {
  /** Hash: the specification as JSON, its version, the next due time, and what became of earlier ones. */
  readonly record: string;
  /** List: its newest runs as JSON. */
  readonly runs: string;
  /** Sorted set: the user's crons by time of creation. */
  readonly ofUser: string;
  /** Sorted set of all users: `<user>/<cron>` → ms of the next look at it. */
  readonly due: string;
}

/** The outbox of a user; `outbox/outbox.lua` names them again. */
export interface OutboxKeys {
  /** Sorted set of all users: `<user>/<event>` → ms when it was written. */
  readonly all: string;
  /** Sorted set: user → ms of the next look at his events. */
  readonly users: string;
  /** Sorted set: event → ms of its next attempt. */
  readonly waiting: string;
  /** Sorted set: events under way → end of the lease. */
  readonly running: string;
  /** List: events that were given up, newest first. */
  readonly failed: string;
  /** Prefix of the user's events, a hash each. */
  readonly events: string;
}

/** The leases of the processes of one role. */
export interface ProcessKeys {
  /** Sorted set: process id → end of its lease in ms. */
  readonly ends: string;
  /** Hash: process id → since when, in ms, its lease has not lapsed. */
  readonly since: string;
}

/** The texts that requests of runs refer to, as traces/trace.lua takes them. */
export interface TraceTextKeys {
  /** Hash: hash of the text → the text, and `bytes`, the size of all. */
  readonly texts: string;
  /** Sorted set: hash → ms when it may be removed. */
  readonly ends: string;
}

/** The keys of one account in the order in which every script on it takes them. */
/** The API keys that administrators make. */
export interface ApiKeyKeys {
  /** Hash: key id → JSON without secrets. */
  readonly records: string;
  /** Hash: SHA-256 of a secret → key id. */
  readonly digests: string;
  /** Sorted set: key ids by the time of their creation. */
  readonly order: string;
  /** Hash: key id → ms of its last use. */
  readonly used: string;
}

export interface AccountKeys {
  /** Hash: `email`, `admin`, `password`. */
  readonly record: string;
  /** Hash with a deadline: digest → `<opened ms>:<ends ms>:<remembered>`. */
  readonly sessions: string;
}

/** The keys of a user's items in the order in which every script on them takes them, see `items/items.lua`. */
export interface ItemKeys {
  readonly items: string;
  readonly written: string;
  readonly expiries: string;
  readonly bytes: string;
  readonly vectors: string;
}

/** The keys of a user's assistants, as `assistants/assistant.lua` describes them. */
export interface AssistantKeys {
  readonly heads: string;
  readonly versions: string;
}

/** The keys of a user's custom agents in the order in which every script on them takes them. */
export interface AgentKeys {
  /** Hash: name → JSON of all but the soul; begins with its version and time of creation. */
  readonly agents: string;
  /** Hash: `s:<name>` the soul, `c:<name>` keys of the last calls that wrote it. */
  readonly souls: string;
}
