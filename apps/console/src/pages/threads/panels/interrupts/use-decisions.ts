import type { approvalRoutes, WaitingReply } from '@caribou/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { ApiError } from '../../../../api/request.js';
import { useConversation } from '../../conversation-context.js';
import type { Fault } from './argument-faults.js';
import { decide, type Draft, placeRefusal } from './decisions.js';

const listWaiting = endpoint<typeof approvalRoutes.listOfThread>('GET', '/threads/:thread_id/approvals');

/** How often the list is read while something waits, as another tab, person or deadline may decide. */
const REFRESH_MS = 10_000;

/** What the thread of the conversation waits for. It is read again after each run and while something waits. */
export function useWaiting() {
  const { threadId, exists, status, revision, values } = useConversation();
  const ids = values.interrupts.map(({ id }) => id).join();
  return useQuery({
    queryKey: ['threads', threadId, 'approvals', status, revision, ids],
    queryFn: ({ signal }) => listWaiting({ params: { thread_id: threadId }, signal }),
    enabled: exists && status !== 'busy',
    refetchInterval: ({ state }) => ((state.data?.length ?? 0) > 0 ? REFRESH_MS : false),
  });
}

type Drafts = ReadonlyMap<string, Draft>;
type Faults = Readonly<Record<string, readonly Fault[]>>;

/** The decisions of the page and their way to the server: those that are sent together are one run, and are sent once. */
export function useDecisions(waiting: readonly WaitingReply[]) {
  const { threadId, startRun, refresh } = useConversation();
  const queries = useQueryClient();
  const [drafts, setDrafts] = useState<Drafts>(new Map());
  const [faults, setFaults] = useState<Faults>({});
  const [error, setError] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [isOutdated, setOutdated] = useState(false);
  // The state of a component changes after the next frame, a second click may come before.
  const sending = useRef(false);

  const reload = async (): Promise<void> => {
    await queries.invalidateQueries({ queryKey: ['threads', threadId, 'approvals'] });
    refresh();
  };

  const onRefused = async (failure: unknown): Promise<void> => {
    if (failure instanceof ApiError && failure.status === 409) {
      setOutdated(true);
      setDrafts(new Map());
      return reload();
    }
    const placed = failure instanceof ApiError ? placeRefusal(failure.message) : undefined;
    if (placed !== undefined && waiting.some(({ interrupt_id: id }) => id === placed.interruptId))
      setFaults({ [placed.interruptId]: [placed] });
    else setError(failure);
  };

  const send = async (given: Drafts): Promise<void> => {
    if (sending.current) return;
    const decided = decide(waiting, given);
    setFaults(decided.faults);
    setError(undefined);
    setOutdated(false);
    if (Object.keys(decided.faults).length > 0 || Object.keys(decided.resume).length === 0) return;
    sending.current = true;
    setBusy(true);
    try {
      await startRun({ command: { resume: decided.resume }, strict_resume: true });
      setDrafts(new Map());
      await reload();
    } catch (failure) {
      await onRefused(failure);
    } finally {
      sending.current = false;
      setBusy(false);
    }
  };

  const setDraft = (id: string, draft: Draft | undefined): void => {
    setFaults(({ [id]: _before, ...others }) => others);
    setDrafts((before) => {
      const next = new Map(before);
      if (draft === undefined) next.delete(id);
      else next.set(id, draft);
      return next;
    });
  };
  return { drafts, faults, error, isBusy, isOutdated, setDraft, send, reload };
}
