import { Send, Square, X } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Button } from '../../../components/button.js';
import { Failure } from '../../../components/notice.js';
import { visibleText } from '../../../components/markdown/visible-text.js';
import { talk } from '../../../text/talk.js';
import { useConversation, type AttachedFile } from '../conversation-context.js';
import type { Choices } from './choices.js';
import styles from './composer.module.css';
import { readDraft, writeDraft } from './drafts.js';
import { Polish } from './polish.js';
import { RunSettingsBar } from './run-settings-bar.js';
import type { RunSettings } from './run-settings.js';

interface ComposerProps {
  /** The name that the draft is stored under. */
  readonly draftName: string;
  readonly choices: Choices;
  readonly settings: RunSettings;
  readonly onSettings: (settings: RunSettings) => void;
  readonly onSend: (text: string, files: readonly AttachedFile[], strategy: Strategy) => Promise<void>;
  readonly onStop: () => Promise<void>;
}

const MAX_ROWS = 12;

/** Where a person writes. A draft stays until it was sent, and comes back when it could not be. */
export function Composer({ draftName, choices, settings, onSettings, onSend, onStop }: ComposerProps) {
  const { runInFlight, attached, detach } = useConversation();
  const [text, setText] = useState(() => readDraft(draftName));
  const [strategy, setStrategy] = useState<Strategy>('steer');
  const [error, setError] = useState<unknown>(undefined);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => writeDraft(draftName, text), [draftName, text]);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);

  const send = async (): Promise<void> => {
    if (text.trim() === '') return;
    const sent = text;
    setText('');
    setError(undefined);
    try {
      await onSend(sent, attached, runInFlight === undefined ? 'enqueue' : strategy);
      for (const { virtual_path: path } of attached) detach(path);
    } catch (failure) {
      // What was written meanwhile comes behind it.
      setText((meanwhile) => (meanwhile === '' ? sent : `${sent}\n${meanwhile}`));
      setError(failure);
    }
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };

  return (
    <form
      className={styles['composer']}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {error === undefined ? null : (
        <div>
          <p>{talk.notSent}</p>
          <Failure error={error} />
        </div>
      )}
      <Attached />
      <div className={styles['row']}>
        <textarea
          ref={field}
          className={styles['field']}
          aria-label={talk.message}
          placeholder={talk.messageHint}
          rows={rowsFor(text)}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
        />
        <div className={styles['buttons']}>
          <Button look="primary" type="submit" disabled={text.trim() === ''}>
            <Send size={16} aria-hidden />
            {talk.send}
          </Button>
          {runInFlight === undefined ? null : <StopButton key={runInFlight.runId} onStop={onStop} onError={setError} />}
        </div>
      </div>
      <div className={styles['bar']}>
        <RunSettingsBar choices={choices} settings={settings} onChange={onSettings} />
        {runInFlight === undefined ? null : <StrategyChoice strategy={strategy} onChange={setStrategy} />}
        {choices.canPolish ? <Polish text={text} onChange={setText} onError={setError} /> : null}
      </div>
    </form>
  );
}

const rowsFor = (text: string): number => Math.min(MAX_ROWS, Math.max(2, text.slice(0, 10_000).split('\n').length));

/** The files that the next message names. */
function Attached() {
  const { attached, detach } = useConversation();
  if (attached.length === 0) return null;
  return (
    <ul className={styles['files']} aria-label={talk.files}>
      {attached.map(({ filename, virtual_path: path }) => (
        <li key={path}>
          {visibleText(filename)}
          <Button look="quiet" isIcon aria-label={talk.detach(filename)} onClick={() => detach(path)}>
            <X size={14} aria-hidden />
          </Button>
        </li>
      ))}
    </ul>
  );
}

type Strategy = 'steer' | 'enqueue';

interface StrategyProps {
  readonly strategy: Strategy;
  readonly onChange: (strategy: Strategy) => void;
}

/** What becomes of a message while the agent works. */
const StrategyChoice = ({ strategy, onChange }: StrategyProps) => (
  <label className={styles['choice']}>
    {talk.whileBusy}
    <select value={strategy} onChange={({ target }) => onChange(target.value === 'steer' ? 'steer' : 'enqueue')}>
      <option value="steer">{talk.steer}</option>
      <option value="enqueue">{talk.queue}</option>
    </select>
  </label>
);

interface StopButtonProps {
  readonly onStop: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

function StopButton({ onStop, onError }: StopButtonProps) {
  const [isStopping, setStopping] = useState(false);
  const stop = async (): Promise<void> => {
    setStopping(true);
    try {
      await onStop();
    } catch (error) {
      onError(error);
      setStopping(false);
    }
  };
  return (
    <Button disabled={isStopping} onClick={() => void stop()}>
      <Square size={14} aria-hidden />
      {isStopping ? talk.stopping : talk.stop}
    </Button>
  );
}
