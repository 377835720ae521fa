import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Confirm } from '../../../components/dialog.js';

/** What is asked before something is done to the work of a user. */
export interface Question {
  readonly title: string;
  readonly about: ReactNode;
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks one question at a time; what the pages show is read again after it is answered. */
export function useQuestion() {
  const queries = useQueryClient();
  const [question, setQuestion] = useState<Question>();
  const confirm = async (): Promise<void> => {
    try {
      await question?.onConfirm();
    } finally {
      await queries.invalidateQueries({ queryKey: ['records'] });
    }
  };
  const dialog = (
    <Confirm
      title={question?.title ?? ''}
      action={question?.action ?? ''}
      isOpen={question !== undefined}
      onClose={() => setQuestion(undefined)}
      onConfirm={confirm}
    >
      {question?.about}
    </Confirm>
  );
  return { ask: setQuestion, dialog };
}
