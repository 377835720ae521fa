/** NATS names, one place. Ids are checked against the strict pattern before they get here. */

export const streams = {
  turns: { name: 'TURNS', subjects: ['turns.*.*'], consumer: 'runner' },
  subagents: { name: 'SUBAGENTS', subjects: ['subagents.*.*'], consumer: 'pool' },
  memory: { name: 'MEMORY', subjects: ['memory.*.*'], consumer: 'worker' },
  deadLetters: { name: 'DEAD_LETTERS', subjects: ['dead.>'], consumer: 'operator' },
} as const;

/** Whose work a wake tells of; the first token of its subject. */
export type WakeRole = Extract<keyof typeof streams, 'turns' | 'subagents' | 'memory'>;

/** The wake of a thread: says that there may be something to do, never what. */
export const wakeSubject = (role: WakeRole, userId: string, threadId: string): string =>
  `${role}.${userId}.${threadId}`;

/** What could not be worked on: a run, a thread's words for memory, or a message on the bus. */
export type DeadLetterKind = 'run' | 'memory' | 'malformed';

export const deadLetterSubject = (kind: DeadLetterKind, id: string): string => `dead.${kind}.${id}`;

/** Live tail of a run's event log. */
export const runEventsSubject = (runId: string): string => `run.${runId}.event`;
/** Cancel broadcast; every runner and executor hears `cancel.*`. */
export const cancelSubject = (runId: string): string => `cancel.${runId}`;
export const CANCEL_ALL = 'cancel.*';

/** Tells every process that a document of the installation was changed; what it says now stands in the store. */
export const configSubject = (name: string): string => `config.${name}`;

/** What all commands write while they run. */
export const COMMAND_OUTPUTS = 'output.>';

/**
 * What the command under a key, `run_id:tool_call_id`, writes while it runs; undefined for a key that would not be one
 * token of a subject for each of its two parts.
 */
export const commandOutputSubject = (command: {
  readonly userId: string;
  readonly threadId: string;
  readonly key: string;
}): string | undefined => {
  const parts = /^([\w-]{1,100}):([\w-]{1,100})$/.exec(command.key);
  return parts === null ? undefined : `output.${command.userId}.${command.threadId}.${parts[1]}.${parts[2]}`;
};
