import { useEffect, useState } from 'react';
import { Button } from '../../../components/button.js';
import { visibleText } from '../../../components/markdown/visible-text.js';
import { talk } from '../../../text/talk.js';
import { useConversation } from '../conversation-context.js';
import type { Item } from '../state/items.js';
import { suggestQuestions } from './choices.js';
import styles from './composer.module.css';

const MAX_MESSAGES = 6;
const MAX_CHARS = 4_000;

interface SuggestionsProps {
  readonly messages: readonly Item[];
  readonly onChoose: (text: string) => void;
}

/** Follow-up questions after a run of this page, as buttons. None when the model has no good ones, or is busy. */
export function Suggestions({ messages, onChoose }: SuggestionsProps) {
  const { threadId, revision, modelName } = useConversation();
  const [suggestions, setSuggestions] = useState<readonly string[]>([]);
  useEffect(() => {
    setSuggestions([]);
    if (revision === 0) return undefined;
    let isCurrent = true;
    const body = { messages: conversationOf(messages), ...(modelName === undefined ? {} : { model_name: modelName }) };
    suggestQuestions({ params: { thread_id: threadId }, body }).then(
      (reply) => {
        if (isCurrent) setSuggestions(reply.suggestions);
      },
      // They are an offer: without them the conversation continues as well.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
    // The messages at the end of the run.
  }, [threadId, revision]);
  if (suggestions.length === 0) return null;
  return (
    <ul className={styles['suggestions']} aria-label={talk.suggestions}>
      {suggestions.map((text) => (
        <li key={text}>
          <Button onClick={() => onChoose(text)}>{visibleText(text)}</Button>
        </li>
      ))}
    </ul>
  );
}

function conversationOf(messages: readonly Item[]): { role: 'user' | 'assistant'; content: string }[] {
  return messages
    .flatMap((item): { role: 'user' | 'assistant'; content: string }[] => {
      if (item.kind === 'result' || item.text === '') return [];
      return [{ role: item.kind === 'said' ? 'user' : 'assistant', content: item.text.slice(0, MAX_CHARS) }];
    })
    .slice(-MAX_MESSAGES);
}
