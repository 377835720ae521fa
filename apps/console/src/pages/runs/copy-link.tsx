import { useState } from 'react';
import { Button } from '../../components/button.js';
import { explain } from '../../text/explain.js';

/** Copies the address of the page. */
export function CopyLink() {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(location.href);
      setState('copied');
    } catch {
      // Browsers give the clipboard to secure pages only, and may ask the person.
      setState('failed');
    }
  };
  return (
    <>
      <Button onClick={() => void copy()}>{explain.copyLink}</Button>
      <span role="status">{state === 'idle' ? '' : state === 'copied' ? explain.copied : explain.copyFailed}</span>
    </>
  );
}
