import { useEffect, useState } from 'react';
import { formatDuration } from '../../../../text/format.js';
import { panels } from '../../../../text/panels.js';

interface CountdownProps {
  /** ISO 8601. */
  readonly expiresAt: string;
  /** The decision that the deadline makes; undefined: an answer of another kind. */
  readonly then: string | undefined;
  readonly onExpired: () => void;
}

const { interrupts: texts } = panels;

const isKnown = (decision: string | undefined): decision is 'approve' | 'reject' =>
  decision === 'approve' || decision === 'reject';

/** How long a person may still decide, and what happens then. Screen readers hear it once, not each second. */
export function Countdown({ expiresAt, then, onExpired }: CountdownProps) {
  const endMs = new Date(expiresAt).getTime();
  const [leftMs, setLeftMs] = useState(() => endMs - Date.now());
  const isOver = leftMs <= 0;
  useEffect(() => {
    if (isOver) return onExpired();
    const timer = setInterval(() => setLeftMs(endMs - Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [endMs, isOver, onExpired]);
  if (isOver) return <p>{texts.expired}</p>;
  return (
    <p>
      <span role="timer">{texts.deadline(formatDuration(leftMs))}</span>{' '}
      {texts.deadlineThen[isKnown(then) ? then : 'other']}
    </p>
  );
}
