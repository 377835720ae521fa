import { type FormEvent, useState } from 'react';
import { Button } from '../../../../components/button.js';
import { panels } from '../../../../text/panels.js';
import { HiddenText } from './hidden-text.js';
import styles from './interrupts.module.css';
import { isObject } from './waiting.js';

const { interrupts: texts } = panels;

interface OtherProps {
  readonly value: unknown;
  /** JSON Schema of the answer, if its author gave one. */
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: unknown) => void;
}

const headlineOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value;
  const question = isObject(value) ? (value['question'] ?? value['message']) : undefined;
  return typeof question === 'string' ? question : undefined;
};

/** A question of a custom tool or middleware: yes or no, choices, a text or JSON, as its schema says. */
export function OtherCard({ value, schema = {}, isBusy, onAnswer }: OtherProps) {
  const headline = headlineOf(value);
  const choices = choicesOf(schema);
  return (
    <>
      <h3>{headline === undefined ? texts.question : <HiddenText text={headline} />}</h3>
      {typeof value === 'string' ? null : (
        <details open={headline === undefined}>
          <summary>{texts.value}</summary>
          <pre className={styles['raw']} tabIndex={0} aria-label={texts.value}>
            <HiddenText text={JSON.stringify(value, null, 2) ?? 'null'} />
          </pre>
        </details>
      )}
      {choices.length > 0 ? (
        <div className={styles['actions']} role="group" aria-label={texts.answerLabel}>
          {choices.map(({ label, answer }) => (
            <Button key={label} disabled={isBusy} onClick={() => onAnswer(answer)}>
              {label}
            </Button>
          ))}
        </div>
      ) : (
        <OtherAnswer
          isJson={typeof schema['type'] === 'string' && schema['type'] !== 'string'}
          isBusy={isBusy}
          onAnswer={onAnswer}
        />
      )}
    </>
  );
}

function choicesOf({ type, enum: allowed }: Readonly<Record<string, unknown>>): { label: string; answer: unknown }[] {
  if (Array.isArray(allowed))
    return allowed.map((answer: unknown) => ({
      label: typeof answer === 'string' ? answer : JSON.stringify(answer),
      answer,
    }));
  if (type !== 'boolean') return [];
  return [
    { label: texts.yes, answer: true },
    { label: texts.no, answer: false },
  ];
}

/** A text, or JSON where the schema asks for something else than a text. */
function OtherAnswer({
  isJson,
  isBusy,
  onAnswer,
}: Pick<OtherProps, 'isBusy' | 'onAnswer'> & { readonly isJson: boolean }) {
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string | undefined>(undefined);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    try {
      onAnswer(isJson ? JSON.parse(text) : text);
      setFault(undefined);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      setFault(texts.answerNoJson(error.message));
    }
  };
  return (
    <form className={styles['form']} onSubmit={send}>
      <label>
        {isJson ? texts.answerJson : texts.answerLabel}
        <textarea
          className={isJson ? styles['code'] : styles['text']}
          rows={2}
          value={text}
          aria-invalid={fault !== undefined}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      {fault === undefined ? null : (
        <p role="alert" className={styles['warning']}>
          {fault}
        </p>
      )}
      <div className={styles['actions']}>
        <Button type="submit" look="primary" disabled={isBusy || text.trim() === ''}>
          {texts.answerSend}
        </Button>
      </div>
    </form>
  );
}
