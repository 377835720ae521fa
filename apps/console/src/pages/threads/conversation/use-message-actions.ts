import { useMemo } from 'react';
import type { MessageActions } from '../message/message-actions.js';
import type { Choices } from '../composer/choices.js';
import { pricingOf } from '../state/cost.js';
import { talk } from '../../../text/talk.js';
import type { OpenConversation } from './use-store.js';

interface Opens {
  readonly onOpen: (threadId: string) => void;
}

/** The actions of messages. They stay the same objects while events arrive, so that messages are not drawn again. */
export function useMessageActions(
  { actions, store }: OpenConversation,
  onError: (error: unknown) => void,
  { showsTokens, models, onOpen }: Pick<Choices, 'showsTokens' | 'models'> & Opens,
): MessageActions {
  return useMemo(() => {
    const shown = (work: Promise<unknown>): void => {
      onError(undefined);
      work.catch(onError);
    };
    const titleNow = (): string => store.getView().conversation.values.title ?? talk.untitled;
    return {
      regenerate: (messageId) => shown(actions.regenerate(messageId)),
      branch: (messageId) => shown(actions.branch(messageId, talk.branchTitle(titleNow())).then(onOpen)),
      edit: (messageId, text) => shown(actions.edit(messageId, text)),
      rate: (runId, rating) => shown(actions.rate(runId, rating)),
      explainPath: (runId) => `/runs/${store.threadId}/${runId}`,
      showsTokens,
      pricingOf: (model) => pricingOf(models, model),
    };
    // `onOpen` leads to the same page however often it is made.
  }, [actions, store, onError, showsTokens, models]);
}
