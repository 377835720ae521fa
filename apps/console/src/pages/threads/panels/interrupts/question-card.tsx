import { type FormEvent, useState } from 'react';
import { Button } from '../../../../components/button.js';
import { panels } from '../../../../text/panels.js';
import { emptyFields, formAnswer, missingFields } from './form-answer.js';
import { HiddenText } from './hidden-text.js';
import styles from './interrupts.module.css';
import { QuestionFieldInput } from './question-field.js';
import type { AskedQuestion } from './waiting.js';

const { interrupts: texts } = panels;

interface QuestionProps {
  readonly question: AskedQuestion;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: string) => void;
}

/** A question of the agent: choices, a form, or a text. */
export function QuestionCard({ question, isBusy, onAnswer }: QuestionProps) {
  return (
    <>
      <h3>
        <HiddenText text={question.question} />
      </h3>
      {question.context === '' ? null : (
        <p>
          <HiddenText text={question.context} />
        </p>
      )}
      {question.fields.length > 0 ? (
        <QuestionForm question={question} isBusy={isBusy} onAnswer={onAnswer} />
      ) : (
        <>
          <div className={styles['actions']} role="group" aria-label={texts.answerLabel}>
            {question.options.map(({ id, label, value }) => (
              <Button key={id} disabled={isBusy} className={styles['option']} onClick={() => onAnswer(value)}>
                {label}
              </Button>
            ))}
          </div>
          <FreeAnswer
            label={question.options.length === 0 ? texts.answerLabel : texts.otherAnswer}
            isBusy={isBusy}
            onAnswer={onAnswer}
          />
        </>
      )}
    </>
  );
}

/** An answer in one's own sentences. */
function FreeAnswer({ label, isBusy, onAnswer }: Omit<QuestionProps, 'question'> & { readonly label: string }) {
  const [text, setText] = useState('');
  const send = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() !== '') onAnswer(text);
  };
  return (
    <form className={styles['form']} onSubmit={send}>
      <label>
        {label}
        <textarea className={styles['text']} rows={2} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <div className={styles['actions']}>
        <Button type="submit" look="primary" disabled={isBusy || text.trim() === ''}>
          {texts.answerSend}
        </Button>
      </div>
    </form>
  );
}

function QuestionForm({ question: { fields }, isBusy, onAnswer }: QuestionProps) {
  const [values, setValues] = useState(() => emptyFields(fields));
  const [missing, setMissing] = useState<readonly string[]>([]);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    const left = missingFields(fields, values);
    setMissing(left);
    if (left.length === 0) onAnswer(formAnswer(fields, values));
  };
  return (
    <form className={styles['form']} onSubmit={send} noValidate>
      {fields.map((field) => (
        <QuestionFieldInput
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      {missing.length === 0 ? null : (
        <p role="alert" className={styles['warning']}>
          {texts.fieldMissing(missing.join(', '))}
        </p>
      )}
      <div className={styles['actions']}>
        <Button type="submit" look="primary" disabled={isBusy}>
          {texts.answerSend}
        </Button>
      </div>
    </form>
  );
}
