import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';

export interface Action<Input> {
  /** Does it; a failure is in `error` and is not thrown. */
  readonly start: (input: Input) => void;
  /** Does it, and throws its failure as well. */
  readonly run: (input: Input) => Promise<unknown>;
  readonly isBusy: boolean;
  /** Why the last one failed; null when it did not. */
  readonly error: unknown;
  readonly isDone: boolean;
  readonly reset: () => void;
}

/** Something that a person does. Afterwards, also after a failure, the queries with these keys are read again. */
export function useAction<Input = void>(
  act: (input: Input) => Promise<unknown>,
  changes: readonly QueryKey[],
): Action<Input> {
  const client = useQueryClient();
  const { mutate, mutateAsync, isPending, error, isSuccess, reset } = useMutation({
    mutationFn: act,
    onSettled: () => Promise.all(changes.map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
  return { start: (input) => mutate(input), run: mutateAsync, isBusy: isPending, error, isDone: isSuccess, reset };
}
