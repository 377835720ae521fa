import type { ClientInterrupt } from '@caribou/contracts';
import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { Failure } from '../../../components/notice.js';
import { talk } from '../../../text/talk.js';
import { useConversation } from '../conversation-context.js';

/** What a run asks a person, below the messages, and a way to answer. */
export function InterruptCard({ interrupt }: { readonly interrupt: ClientInterrupt }) {
  const { startRun } = useConversation();
  const [answer, setAnswer] = useState('');
  const [error, setError] = useState<unknown>(undefined);
  const send = async (): Promise<void> => {
    try {
      await startRun({ command: { resume: { [interrupt.id]: answer } } });
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section aria-label={talk.asked}>
      <pre>{JSON.stringify(interrupt.value, null, 2)}</pre>
      <textarea aria-label={talk.answer} value={answer} onChange={(event) => setAnswer(event.target.value)} />
      <Button look="primary" onClick={() => void send()}>
        {talk.answer}
      </Button>
      {error === undefined ? null : <Failure error={error} />}
    </section>
  );
}
