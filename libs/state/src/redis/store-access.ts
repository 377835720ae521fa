import type { ServiceName } from '@caribou/contracts';
import { storeKeys } from './keys.js';
import type { StoreKeys } from './store-keys.js';

/**
 * Which keys each service may read and write: the one table behind the users of the Redis servers that `npm start` and
 * the compose file run. Patterns are made by `keys.ts`. Scripts run with their caller's rights: what a caller may only
 * read is handed to a script by argument, as every key that is declared as such has to be writable.
 */
interface KeyAccess {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** The placeholder for each id in the patterns; a "*" would be refused as an id. */
const ANY = 'ANY';
const anyThread = { userId: ANY, threadId: ANY };

type Patterns = ReturnType<typeof patternsOf>;

/** Groups of keys by what they are for. A pattern that ends in "*" has all keys that begin so. */
function patternsOf(keys: StoreKeys) {
  const { lease, owner, record, sandbox, executions, inFlight, stored } = keys.thread(anyThread);
  const { agents, souls } = keys.agents(ANY);
  const memory = keys.memoryUser(ANY);
  const account = keys.account(ANY);
  const { ready, capped } = keys.turns;
  const cron = keys.cron(ANY, ANY);
  const { events, ...outbox } = keys.outbox(ANY);
  return {
    ownership: [lease, owner],
    binding: [sandbox],
    executions: [executions, `${keys.executionPrefix(anyThread)}*`],
    threads: [`${record}*`, keys.pending, keys.threads(ANY), inFlight, stored],
    interrupts: [keys.interrupted(ANY), keys.interruptsDue, keys.interruptsWaiting],
    turns: [ready, capped, ...Object.values<string>({ ...keys.turnsOf(ANY) })],
    threadRecords: [record],
    runs: [`${keys.runPrefix(ANY)}*`],
    traceTexts: Object.values<string>({ ...keys.traceTexts(ANY) }),
    events: [`${keys.eventsPrefix(ANY)}*`],
    erasing: keys.erasing === undefined ? [] : [keys.erasing],
    erased: [keys.erased],
    idempotency: [`${keys.idempotency(ANY, ANY)}`],
    conversions: [keys.conversions(anyThread)],
    files: [...Object.values<string>({ ...keys.files(anyThread) }), keys.unpublished(ANY)],
    skills: [keys.skills(ANY)],
    agents: [agents, souls, keys.profile(ANY)],
    items: Object.values<string>({ ...keys.items(ANY) }),
    assistants: Object.values<string>({ ...keys.assistants(ANY) }),
    models: Object.values<string>({ ...keys.model({ provider: ANY, model: ANY }) }),
    memories: Object.values<string>({ ...keys.memory({ userId: ANY, agent: ANY }) }),
    memoryJobs: [
      ...Object.values<string>({ ...memory }),
      keys.memoryServed,
      keys.memoryJob(anyThread).jobs,
      keys.memoryDead(ANY),
    ],
    documents: [keys.document(ANY)],
    tokens: [keys.token(ANY)],
    locks: [keys.lock(ANY)],
    accounts: [keys.accounts, keys.accountOrder, keys.administrators, account.record, account.sessions],
    attempts: [keys.attempts(ANY, ANY)],
    apiKeys: Object.values<string>({ ...keys.apiKeys }),
    delayed: Object.values<string>({ ...keys.delayedRuns(ANY) }),
    crons: Object.values<string>({ ...cron }),
    outbox: [...Object.values<string>(outbox), `${events}*`],
    outboxHosts: [`${keys.outboxPrefixes.hosts}*`],
    requestBuckets: [keys.requestBucket(ANY, ANY)],
    processes: Object.values<string>({ ...keys.processes('runs') }),
    memoryProcesses: Object.values<string>({ ...keys.processes('memory') }),
    managers: [keys.managers, keys.manager(ANY), keys.managerSeen(ANY)],
    audit: [keys.audit],
    deadLetters: [keys.deadLetters],
    letters: Object.values<string>({ ...keys.letters }),
    usage: [`${keys.usagePrefix}*`],
    probe: [keys.probe],
    volume: [keys.volume],
  };
}

function accessOf(service: ServiceName, own: Patterns, tasks: string): KeyAccess {
  switch (service) {
    case 'gateway':
      return {
        // Which processes have a lease is shown to administrators.
        reads: [own.processes, own.memoryProcesses, own.managers].flat(),
        writes: [
          ...own.interrupts,
          // The admission of a run that continues a thread records who decided.
          ...own.audit,
          ...own.letters,
          ...[own.threads, own.turns, own.runs, own.events, own.executions, own.idempotency].flat(),
          ...own.conversions,
          ...own.files,
          ...[own.skills, own.agents, own.models, own.memories, own.memoryJobs].flat(),
          ...[own.attempts, own.apiKeys].flat(),
          ...[own.documents, own.locks, own.accounts, own.volume, own.erasing, own.erased, [tasks]].flat(),
          ...own.requestBuckets,
          ...own.traceTexts,
          ...own.usage,
          ...[own.delayed, own.crons, own.outbox, own.outboxHosts].flat(),
          ...own.assistants,
          ...own.items,
        ],
      };
    case 'agent-runner':
      return {
        reads: [own.conversions, own.skills, own.documents, own.managers].flat(),
        writes: [
          ...own.interrupts,
          // The end of a run sets the deadline of its idempotency key.
          ...[own.threads, own.turns, own.runs, own.events, own.executions, own.idempotency].flat(),
          ...[own.agents, own.models].flat(),
          ...[own.memories, own.memoryJobs, own.tokens, own.deadLetters, own.letters, own.erasing, [tasks]].flat(),
          ...own.processes,
          ...own.traceTexts,
          ...own.usage,
          // The end of a run announces it to its webhook.
          ...own.outbox,
          // The agent of a scheduled run may stop the schedule.
          ...own.crons,
        ],
      };
    case 'subagent-pool':
      return {
        reads: [own.ownership, own.runs, own.skills, own.documents, own.managers].flat(),
        // A caller without a reply from a sandbox withdraws the execution from the journal.
        writes: [own.executions, own.models, own.tokens, own.usage, own.traceTexts, [tasks]].flat(),
      };
    case 'memory-worker':
      return {
        // A pattern for the record alone is not possible: it matches all keys of a thread.
        reads: own.threadRecords,
        writes: [own.memories, own.memoryJobs, own.letters, own.models, own.memoryProcesses, own.usage].flat(),
      };
    case 'sandbox-manager':
      return {
        reads: [own.ownership, own.erasing].flat(),
        writes: [
          ...[own.binding, own.executions, own.managers, own.audit, own.volume, own.files].flat(),
          // A manager brings skills that only lie on its disk into the object store.
          ...own.skills,
        ],
      };
  }
}

/**
 * Commands on the keys a user may use. Not among them: what shows or changes others' data or the server (@dangerous has
 * FLUSHALL, CONFIG, KEYS, DEBUG, MONITOR, ACL), lists keys of everybody, or changes scripts of everybody.
 */
const COMMANDS = [
  ...['+@read', '+@write', '+@connection', '+@transaction', '-@scripting', '-@dangerous'],
  ...['-scan', '-randomkey', '-dbsize', '+eval', '+eval_ro', '+evalsha', '+evalsha_ro', '+time', '+info'],
];

/** Ids have no ":", and hashes are of hexadecimal digits, but Redis' patterns cannot express that: "*" matches both. */
const HASH = /\b[0-9a-f]{32}\b/g;
const asPattern = (key: string): string => key.replaceAll(HASH, '*').replaceAll(ANY, '*');

/** The rules of a service's user, for `ACL SETUSER` or redis.conf, without its password. */
export function storeAccess(service: ServiceName, keyPrefix = 'caribou:'): readonly string[] {
  const own = patternsOf(storeKeys(keyPrefix));
  const { reads, writes } = accessOf(service, own, `${keyPrefix}tasks:*`);
  return [
    'resetkeys',
    'resetchannels',
    '-@all',
    ...COMMANDS,
    ...unique([...own.probe, ...writes]).map((pattern) => `~${pattern}`),
    ...unique(reads).map((pattern) => `%R~${pattern}`),
  ];
}

const unique = (keys: readonly string[]): string[] => [...new Set(keys.map(asPattern))];
