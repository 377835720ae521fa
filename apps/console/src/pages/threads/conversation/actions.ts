import { branchThread, deleteFeedback, prepareEdit, prepareRegenerate, putFeedback } from '../../../api/threads.js';
import { ApiError } from '../../../api/request.js';
import type { AttachedFile, RunRequest } from '../conversation-context.js';
import { saidNow, withAccepted, withRefused, withSent } from '../state/pending.js';
import { backoffMs, pause } from '../stream/backoff.js';
import { STREAM_MODES } from '../stream/stream-modes.js';
import { newId } from './new-id.js';
import type { ConversationStore } from './store.js';
import type { RunBody, StorePorts } from './store-ports.js';

/** How often a request is sent again that got no answer; its key makes all of them one. */
const MAX_TRIES = 5;

const isUnanswered = (error: unknown): boolean =>
  error instanceof ApiError && [0, 502, 503, 504].includes(error.status);

/** What is done in an open conversation. */
export class ConversationActions {
  constructor(
    private readonly store: ConversationStore,
    private readonly ports: StorePorts,
    /** The agent's settings at that moment. */
    private readonly contextNow: () => Record<string, unknown>,
  ) {}

  /**
   * Starts a run, or hands its messages to the one under way, once however often the request has to be repeated.
   *
   * @throws {ApiError} when it was refused, or no answer came for a while
   */
  readonly startRun = async (request: RunRequest): Promise<string> => {
    const body: RunBody = {
      assistant_id: 'lead_agent',
      context: this.contextNow(),
      if_not_exists: 'create',
      on_disconnect: 'continue',
      stream_mode: [...STREAM_MODES],
      ...request,
    };
    const key = newId();
    const { signal } = new AbortController();
    for (let tries = 1; ; tries += 1) {
      try {
        const { run_id: runId } = await this.ports.createRun(this.store.threadId, body, key);
        this.store.becomeReal();
        return runId;
      } catch (error) {
        if (tries === MAX_TRIES || !isUnanswered(error)) throw error;
        await pause(backoffMs(tries), signal);
      }
    }
  };

  /**
   * Sends a message.
   *
   * @param strategy what happens while a run is under way
   * @throws {ApiError} when it was not accepted; it is not shown any more then
   */
  readonly send = async (
    text: string,
    files: readonly AttachedFile[],
    strategy: 'steer' | 'enqueue',
  ): Promise<void> => {
    const joins = strategy === 'steer' && this.store.getView().conversation.run !== undefined;
    const names = files.map(({ filename }) => filename);
    const said = saidNow(newId(), text, names, joins);
    this.store.change((state) => withSent(state, said));
    try {
      const message = {
        type: 'human',
        id: said.id,
        content: text,
        ...(names.length === 0 ? {} : { additional_kwargs: { files: names.map((filename) => ({ filename })) } }),
      };
      const runId = await this.startRun({ input: { messages: [message] }, multitask_strategy: strategy });
      this.store.change((state) => withAccepted(state, said.id, runId));
    } catch (error) {
      this.store.change((state) => withRefused(state, said.id));
      throw error;
    }
  };

  /** Asks the run under way to stop. Its end is seen by its events. */
  readonly stop = async (): Promise<void> => {
    const { run } = this.store.getView().conversation;
    if (run !== undefined) await this.ports.cancelRun(this.store.threadId, run.runId);
  };

  /** Answers a message of the person once more. */
  readonly regenerate = async (messageId: string): Promise<void> => {
    const { input, checkpoint, metadata } = await prepareRegenerate({
      params: { thread_id: this.store.threadId },
      body: { message_id: messageId },
    });
    await this.startRun({ input, checkpoint, metadata });
  };

  /** Answers a message of the person as if it had been another one. */
  readonly edit = async (messageId: string, text: string): Promise<void> => {
    const { input, checkpoint, metadata } = await prepareEdit({
      params: { thread_id: this.store.threadId },
      body: { human_message_id: messageId, replacement_text: text },
    });
    await this.startRun({ input, checkpoint, metadata });
  };

  /** A new conversation that continues from an answer. @returns its id */
  readonly branch = async (messageId: string, title: string): Promise<string> => {
    const { thread_id: id } = await branchThread({
      params: { thread_id: this.store.threadId },
      body: { message_id: messageId, title },
    });
    return id;
  };

  /** Says what the person thinks of a run; 0 takes it back. */
  readonly rate = async (runId: string, rating: 1 | -1 | 0): Promise<void> => {
    const params = { thread_id: this.store.threadId, run_id: runId };
    if (rating === 0) await deleteFeedback({ params });
    else await putFeedback({ params, body: { rating } });
    await this.store.read();
  };
}
