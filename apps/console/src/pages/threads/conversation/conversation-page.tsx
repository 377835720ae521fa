import { useCallback, useEffect, useMemo, useState } from 'react';
import { ApiError } from '../../../api/request.js';
import { Failure, Loading } from '../../../components/notice.js';
import { talk } from '../../../text/talk.js';
import { useChoices } from '../composer/choices.js';
import { Composer } from '../composer/composer.js';
import { NEW_DRAFT } from '../composer/drafts.js';
import { contextOf, isScripted, readSettings, type RunSettings, writeSettings } from '../composer/run-settings.js';
import { Suggestions } from '../composer/suggestions.js';
import { type AttachedFile, Conversation } from '../conversation-context.js';
import { useListChanges } from '../list/use-threads.js';
import { MessageList } from '../message/message-list.js';
import { ConversationHead } from './conversation-head.js';
import { ConversationLayout } from './layout.js';
import { RunStatus } from './run-status.js';
import { useMessageActions } from './use-message-actions.js';
import { type OpenConversation, useContextValue, useStore } from './use-store.js';
import { Welcome } from './welcome.js';

interface ConversationPageProps {
  readonly threadId: string;
  readonly isNew: boolean;
  /** The first message was accepted: the conversation exists. */
  readonly onMade: () => void;
  readonly onOpen: (threadId: string) => void;
}

/** An open conversation, or one that begins with the first message. */
export function ConversationPage({ threadId, isNew, onMade, onOpen }: ConversationPageProps) {
  const choices = useChoices();
  const [settings, setSettings] = useState(() => readSettings(localStorage));
  const [isPanelOpen, setPanelOpen] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const attachments = useState<readonly AttachedFile[]>([]);
  const open = useStore(threadId, isNew, () => contextOf(settings, choices));
  const { view, actions, store } = open;
  const context = useContextValue(open, settings.model, attachments);
  const messageActions = useMessageActions(open, setError, { ...choices, onOpen });
  useListUpdates(open);
  useEffect(() => {
    document.title = `${context.values.title ?? talk.newConversation} · Caribou`;
  }, [context.values.title]);

  const changeSettings = (changed: RunSettings): void => {
    setSettings(changed);
    writeSettings(localStorage, changed);
  };
  const send = async (text: string, files: readonly AttachedFile[], strategy: 'steer' | 'enqueue'): Promise<void> => {
    setError(undefined);
    await actions.send(text, files, strategy);
    if (isNew) onMade();
  };
  const sendNow = (text: string): void => void send(text, [], 'enqueue').catch(setError);
  const readOlder = useCallback(() => void store.readOlder().catch(setError), [store]);
  const isEmpty = view.exists === false && view.conversation.pending.length === 0;
  const usesScript = choices.models.some((model) => isScripted(model));

  const messages = (
    <>
      {view.error === undefined ? null : <Unreadable error={view.error} onRetry={() => store.wake()} />}
      {view.exists === undefined && view.error === undefined ? <Loading /> : null}
      {isEmpty ? (
        <Welcome isScripted={usesScript} onChoose={sendNow} />
      ) : (
        <MessageList
          conversation={view.conversation}
          isReadingOlder={view.isReadingOlder}
          onOlder={readOlder}
          actions={messageActions}
        />
      )}
      <RunStatus view={view} />
      {error === undefined ? null : <Failure error={error} />}
      {choices.canSuggest && context.runInFlight === undefined ? (
        <Suggestions messages={view.conversation.stored} onChoose={sendNow} />
      ) : null}
    </>
  );
  return (
    <Conversation value={context}>
      <ConversationLayout
        head={<ConversationHead isPanelOpen={isPanelOpen} onPanel={() => setPanelOpen(!isPanelOpen)} />}
        messages={messages}
        composer={
          <Composer
            draftName={isNew ? NEW_DRAFT : threadId}
            choices={choices}
            settings={settings}
            onSettings={changeSettings}
            onSend={send}
            onStop={actions.stop}
          />
        }
        isPanelOpen={isPanelOpen && context.exists}
        onPanelClose={() => setPanelOpen(false)}
      />
    </Conversation>
  );
}

/** The list shows a title and an end at once. */
function useListUpdates({ view, store }: OpenConversation): void {
  const changes = useListChanges();
  const title = view.conversation.values.title;
  const isBusy = useMemo(() => view.conversation.run !== undefined, [view.conversation.run]);
  useEffect(() => {
    if (title !== undefined) changes.renamed(store.threadId, title);
  }, [changes, store, title]);
  useEffect(() => {
    if (view.exists === true) changes.refresh();
  }, [changes, view.exists, isBusy]);
}

function Unreadable({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (error instanceof ApiError && error.status === 404) return <Failure error={new Error(talk.gone)} />;
  return <Failure error={error} onRetry={onRetry} />;
}
