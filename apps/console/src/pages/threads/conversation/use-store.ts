import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { AttachedFile, ConversationContext } from '../conversation-context.js';
import { ConversationActions } from './actions.js';
import { ConversationStore, type StoreView } from './store.js';
import { serverPorts } from './store-ports.js';

export interface OpenConversation {
  readonly view: StoreView;
  readonly actions: ConversationActions;
  readonly store: ConversationStore;
}

/** Opens a conversation for as long as the component is shown. It is read again at once when the page comes to the front. */
export function useStore(
  threadId: string,
  isNew: boolean,
  contextNow: () => Record<string, unknown>,
): OpenConversation {
  const [beganNew] = useState(isNew);
  const latest = useRef(contextNow);
  useEffect(() => {
    latest.current = contextNow;
  });
  const [{ store, actions }] = useState(() => {
    const made = new ConversationStore(threadId, serverPorts);
    return { store: made, actions: new ConversationActions(made, serverPorts, () => latest.current()) };
  });
  useEffect(() => {
    const onShown = (): void => {
      if (!document.hidden) store.wake();
    };
    store.open({ isNew: beganNew });
    document.addEventListener('visibilitychange', onShown);
    window.addEventListener('online', onShown);
    return () => {
      document.removeEventListener('visibilitychange', onShown);
      window.removeEventListener('online', onShown);
      store.close();
    };
  }, [store, beganNew]);
  return { view: useSyncExternalStore(store.subscribe, store.getView), actions, store };
}

/** What the parts of the conversation get. It changes with what they show, not with every event. */
export function useContextValue(
  { view, actions, store }: OpenConversation,
  modelName: string | undefined,
  attachments: readonly [readonly AttachedFile[], (files: readonly AttachedFile[]) => void],
): ConversationContext {
  const { conversation, status, revision } = view;
  const [attached, setAttached] = attachments;
  const runId = conversation.run?.runId;
  const attempt = conversation.run?.attempt;
  const runInFlight = useMemo<ConversationContext['runInFlight']>(
    () => (runId === undefined ? undefined : { runId, status: 'running', attempt: attempt ?? 1 }),
    [runId, attempt],
  );
  return useMemo(
    () => ({
      threadId: store.threadId,
      exists: view.exists === true,
      status,
      values: conversation.values,
      runInFlight,
      revision,
      modelName,
      attached,
      refresh: () => void store.read().catch(() => store.wake()),
      startRun: async (request) => void (await actions.startRun(request)),
      attach: (files) => {
        const paths = new Set(files.map(({ virtual_path: path }) => path));
        setAttached([...attached.filter(({ virtual_path: path }) => !paths.has(path)), ...files]);
      },
      detach: (path) => setAttached(attached.filter(({ virtual_path: each }) => each !== path)),
    }),
    [store, actions, view.exists, status, conversation.values, runInFlight, revision, modelName, attached, setAttached],
  );
}
