import type { ClientInterrupt, runRoutes, ThreadStatus, Todo, UploadedFile } from '@caribou/contracts';
import { createContext, use } from 'react';
import type { EndpointInput } from '../../api/endpoint.js';

type RunBody = EndpointInput<typeof runRoutes.create>['body'];

/** A request that starts a run, as the route takes it; the page adds the agent and the settings that the person has chosen. */
export type RunRequest = Partial<Omit<RunBody, 'stream_mode' | 'on_disconnect' | 'if_not_exists'>>;

/** The channels of the thread's state that parts of the page show; updated live while a run is under way. */
export interface ConversationValues {
  readonly title: string | undefined;
  readonly todos: readonly Todo[];
  /** Virtual paths of the files that the agent presented. */
  readonly artifacts: readonly string[];
  readonly goal: unknown;
  /** What waits for an answer of a person. */
  readonly interrupts: readonly ClientInterrupt[];
}

/** A run that is pending or running. */
export interface RunInFlight {
  readonly runId: string;
  readonly status: 'pending' | 'running';
  /** Rises with each process that takes it over. */
  readonly attempt: number;
}

/** A file that the next message names. */
export type AttachedFile = Pick<UploadedFile, 'filename' | 'size' | 'virtual_path'>;

/** What the parts of an open conversation get: what is shown, and what they may do. */
export interface ConversationContext {
  readonly threadId: string;
  /** False until the first message: routes of the thread may answer 404 until then. */
  readonly exists: boolean;
  readonly status: ThreadStatus;
  readonly values: ConversationValues;
  readonly runInFlight: RunInFlight | undefined;
  /** Rises whenever a run of the thread has ended: what was read of files, history or usage is out of date then. */
  readonly revision: number;
  /** The model that the next run will use; undefined: the default one. */
  readonly modelName: string | undefined;
  readonly attached: readonly AttachedFile[];
  /** Reads state and newest messages again, for example after a change of the state. */
  readonly refresh: () => void;
  /**
   * Starts a run and shows its events. Answers of interrupts: `{command: {resume: {[id]: answer}}}`.
   *
   * @throws {ApiError} when the run was refused; nothing was changed then
   */
  readonly startRun: (request: RunRequest) => Promise<void>;
  /** Names files in the next message; ones of the same path are replaced. */
  readonly attach: (files: readonly AttachedFile[]) => void;
  readonly detach: (virtualPath: string) => void;
}

export const Conversation = createContext<ConversationContext | undefined>(undefined);

/** The conversation that the component is in. @throws {Error} outside of one */
export function useConversation(): ConversationContext {
  const conversation = use(Conversation);
  if (conversation === undefined) throw new Error('there is no conversation around this component');
  return conversation;
}
