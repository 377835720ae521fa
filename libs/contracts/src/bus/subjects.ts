/** All NATS names. Ids are checked against the strict pattern before they are used here. */

export const streams = {
  turns: { name: 'TURNS', subjects: ['turns.*.*'], consumer: 'runner' },
  subagents: { name: 'SUBAGENTS', subjects: ['subagents.*.*'], consumer: 'pool' },
  memory: { name: 'MEMORY', subjects: ['memory.*.*'], consumer: 'worker' },
  deadLetters: { name: 'DEAD_LETTERS', subjects: ['dead.>'], consumer: 'operator' },
} as const;

/** The service that a notification (wake) is for; the first token of its subject. */
export type WakeRole = Extract<keyof typeof streams, 'turns' | 'subagents' | 'memory'>;

/** Subject of a thread's wake, which says that there may be work but not which. */
export const wakeSubject = (role: WakeRole, userId: string, threadId: string): string =>
  `${role}.${userId}.${threadId}`;

/** A run that was just admitted is offered on it to one runner with a free slot. */
export const TURN_OFFERS = 'offers.turns';
/** The same for one runner, by the address in its answers. */
export const runnerOffersSubject = (address: string): string => `${TURN_OFFERS}.${address}`;
/** Queue group in which runners with a free slot share the offers. */
export const TURN_TAKERS = 'agent-runner';

/** What could not be processed: a run, a memory extraction, or a message on the bus. */
export type DeadLetterKind = 'run' | 'memory' | 'malformed';

export const deadLetterSubject = (kind: DeadLetterKind, id: string): string => `dead.${kind}.${id}`;

/** Live tail of a run's event log. */
export const runEventsSubject = (runId: string): string => `run.${runId}.event`;
/** Says that a run was admitted to the thread; without content. */
export const threadRunSubject = (userId: string, threadId: string): string => `thread.${userId}.${threadId}.run`;
/** Cancel broadcast; every runner and executor subscribes to `cancel.*`. */
export const cancelSubject = (runId: string): string => `cancel.${runId}`;
export const CANCEL_ALL = 'cancel.*';

/** Notifies every process that a document of the installation has changed; its content is read from the store. */
export const configSubject = (name: string): string => `config.${name}`;

/** Output of all commands while they run. */
export const COMMAND_OUTPUTS = 'output.>';

/**
 * Subject for the output of the command with a key `run_id:tool_call_id`; undefined when one of the key's two parts is
 * not a valid token of a subject.
 */
export const commandOutputSubject = (command: {
  readonly userId: string;
  readonly threadId: string;
  readonly key: string;
}): string | undefined => {
  const parts = /^([\w-]{1,100}):([\w-]{1,100})$/.exec(command.key);
  return parts === null ? undefined : `output.${command.userId}.${command.threadId}.${parts[1]}.${parts[2]}`;
};
