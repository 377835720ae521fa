import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { talk } from '../../../text/talk.js';
import { useConversation } from '../conversation-context.js';
import { polishInput } from './choices.js';

interface PolishProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Lets a model write the draft more clearly, and brings the draft back. */
export function Polish({ text, onChange, onError }: PolishProps) {
  const { threadId, exists } = useConversation();
  const [isBusy, setBusy] = useState(false);
  const [before, setBefore] = useState<{ readonly draft: string; readonly polished: string } | undefined>(undefined);
  const polish = async (): Promise<void> => {
    setBusy(true);
    onError(undefined);
    try {
      const body = { text, locale: navigator.language, ...(exists ? { thread_id: threadId } : {}) };
      const { rewritten_text: polished, changed } = await polishInput({ body });
      if (!changed) return;
      setBefore({ draft: text, polished });
      onChange(polished);
    } catch (error) {
      onError(error);
    } finally {
      setBusy(false);
    }
  };
  if (before?.polished === text) return <Button onClick={() => onChange(before.draft)}>{talk.undoPolish}</Button>;
  return (
    <Button look="quiet" disabled={isBusy || text.trim() === ''} onClick={() => void polish()}>
      {isBusy ? talk.polishing : talk.polish}
    </Button>
  );
}
