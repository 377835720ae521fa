import type { ConversationValues } from '../conversation-context.js';
import type { Item, Said } from './items.js';

/** What a running command has written so far: its end, and how much came before. */
export interface Output {
  readonly text: string;
  readonly omittedChars: number;
}

export interface TaskStep {
  readonly index: number;
  readonly text: string;
  /** Names of the tools that it calls, or whose result it is. */
  readonly tools: readonly string[];
}

/** A subagent, by the id of the call that started it. */
export interface Task {
  readonly description: string;
  readonly model: string | undefined;
  readonly status: 'running' | 'completed' | 'failed' | 'timed_out' | 'cancelled';
  readonly steps: readonly TaskStep[];
  readonly tokens: number | undefined;
}

/** The run whose events are shown. */
export interface FollowedRun {
  readonly runId: string;
  readonly attempt: number;
  /** Id of the last frame that was shown: where the stream is resumed. */
  readonly lastEventId: string | undefined;
  /** Whether events were lost, so that an answer that streams may lack its beginning. */
  readonly hasGap: boolean;
  /** What the model call waits for, in words of the server. */
  readonly notice: string | undefined;
}

/** All that an open conversation shows. It is changed by the functions of this folder only. */
export interface ConversationState {
  /** Messages of the feed by their numbers, and answers that were lost at the position where they came. */
  readonly stored: readonly Item[];
  /** `before_seq` of the next older page; null when all pages were read, undefined before the first one. */
  readonly olderBefore: number | null | undefined;
  /** When the newest page was asked for; answers to earlier requests are out of date. */
  readonly readAt: number;
  /** Messages of the followed run that are not in `stored`, in the order of their arrival. */
  readonly live: readonly Item[];
  /** Messages that were sent here and are not part of the conversation yet. */
  readonly pending: readonly Said[];
  readonly run: FollowedRun | undefined;
  readonly outputs: ReadonlyMap<string, Output>;
  readonly tasks: ReadonlyMap<string, Task>;
  readonly values: ConversationValues;
  /** Why the last run failed. */
  readonly failure: { readonly name: string; readonly message: string } | undefined;
}

export const NO_VALUES: ConversationValues = {
  title: undefined,
  todos: [],
  artifacts: [],
  goal: undefined,
  interrupts: [],
};

export const EMPTY: ConversationState = {
  stored: [],
  olderBefore: undefined,
  readAt: 0,
  live: [],
  pending: [],
  run: undefined,
  outputs: new Map(),
  tasks: new Map(),
  values: NO_VALUES,
  failure: undefined,
};
