import { useState } from 'react';

/** What a dialog does when the person agrees: it is busy meanwhile, closes when it is done, and has the failure otherwise. */
export function useConfirmed({
  onConfirm,
  onClose,
}: {
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, confirm };
}
