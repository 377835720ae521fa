import { Client as Client15 } from 'langgraph-sdk-1-15';
import { Client as Client6 } from 'langgraph-sdk-1-6';
import type { WireMessage } from '../support/client.js';

/** The common methods of both SDK versions that the tests call; their types are incompatible. */
export interface SdkClient {
  readonly threads: {
    create(payload?: { threadId?: string; metadata?: Json; ifExists?: 'raise' | 'do_nothing' }): Promise<SdkThread>;
    get(threadId: string): Promise<SdkThread>;
    search(query?: Json): Promise<SdkThread[]>;
    count(query?: Json): Promise<number>;
    update(threadId: string, payload: { metadata: Json }): Promise<unknown>;
    delete(threadId: string): Promise<void>;
    copy(threadId: string): Promise<unknown>;
    getState(threadId: string, checkpoint?: string | SdkCheckpoint): Promise<SdkState>;
    updateState(
      threadId: string,
      options: { values: Json; asNode?: string; checkpoint?: SdkCheckpoint },
    ): Promise<unknown>;
    getHistory(threadId: string, options?: Json): Promise<SdkState[]>;
  };
  readonly runs: {
    stream(threadId: string | null, assistantId: string, payload: Json): AsyncIterable<StreamPart>;
    create(threadId: string | null, assistantId: string, payload: Json): Promise<SdkRun>;
    wait(threadId: string | null, assistantId: string, payload: Json): Promise<unknown>;
    join(threadId: string, runId: string): Promise<unknown>;
    joinStream(threadId: string, runId: string, options?: Json): AsyncIterable<StreamPart>;
    list(threadId: string, options?: Json): Promise<SdkRun[]>;
    get(threadId: string, runId: string): Promise<SdkRun>;
    cancel(threadId: string, runId: string, wait?: boolean, action?: 'interrupt' | 'rollback'): Promise<unknown>;
    delete(threadId: string, runId: string): Promise<void>;
  };
  readonly assistants: {
    search(query?: Json): Promise<unknown>;
    get(assistantId: string): Promise<SdkAssistant>;
    getGraph(assistantId: string): Promise<unknown>;
    getSchemas(assistantId: string): Promise<unknown>;
  };
}

export type Json = Record<string, unknown>;

/** One frame of a stream as the SDK hands it on. */
export interface StreamPart {
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

export interface SdkThread {
  readonly thread_id: string;
  readonly status: string;
  readonly metadata: Json;
  readonly values: SdkValues;
}

export interface SdkValues {
  readonly messages?: readonly WireMessage[];
  readonly title?: string;
}

export interface SdkCheckpoint {
  readonly thread_id: string;
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
}

export interface SdkState {
  readonly values: SdkValues;
  readonly next: readonly string[];
  readonly checkpoint: SdkCheckpoint | null;
  readonly parent_checkpoint: SdkCheckpoint | null;
  readonly metadata: Json | null;
}

export interface SdkRun {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: string;
  readonly metadata: Json;
}

export interface SdkAssistant {
  readonly assistant_id: string;
  readonly graph_id: string;
}

export interface SdkLine {
  readonly version: string;
  connect(apiUrl: string): SdkClient;
}

/** The lines in use: DeerFlow's lock file pins the first, plain users install the second. */
export const SDK_LINES: readonly SdkLine[] = [
  { version: '1.6.0', connect: (apiUrl) => new Client6({ apiUrl }) as unknown as SdkClient },
  { version: '1.15.0', connect: (apiUrl) => new Client15({ apiUrl }) as unknown as SdkClient },
];
