import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { talk } from '../../text/talk.js';
import { Button } from '../button.js';

/** Copies a text, and says for two seconds whether it did. */
export function CopyButton({ text, label = talk.copy }: { readonly text: string; readonly label?: string }) {
  const [outcome, setOutcome] = useState<'copied' | 'failed' | undefined>(undefined);
  useEffect(() => {
    if (outcome === undefined) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), 2_000);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
    } catch {
      // Browsers refuse it to pages without TLS and without focus: the person copies by hand.
      setOutcome('failed');
    }
  };
  const said = outcome === undefined ? label : talk[outcome];
  return (
    <Button look="quiet" isIcon aria-label={said} title={said} onClick={() => void copy()}>
      {outcome === 'copied' ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
      {outcome === 'failed' ? <span role="status">{talk.failed}</span> : null}
    </Button>
  );
}
