import type { GoalReply, goalRoutes } from '@caribou/contracts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type EndpointInput, endpoint } from '../../../../api/endpoint.js';
import { Button } from '../../../../components/button.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { formatTime } from '../../../../text/format.js';
import { panels } from '../../../../text/panels.js';
import { useConversation } from '../../conversation-context.js';
import { HiddenText } from '../interrupts/hidden-text.js';
import styles from '../panels.module.css';

const getGoal = endpoint<typeof goalRoutes.get>('GET', '/threads/:thread_id/goal');
const setGoal = endpoint<typeof goalRoutes.set>('PUT', '/threads/:thread_id/goal');
const clearGoal = endpoint<typeof goalRoutes.clear>('DELETE', '/threads/:thread_id/goal');

const { goal: texts } = panels;

type GoalState = NonNullable<GoalReply['goal']>;

/** The server takes no longer objective. */
const MAX_OBJECTIVE_CHARS = 4_000;

/** What the conversation is to reach: shown, set and removed. */
export function Goal() {
  const { goal, error, refetch, set, clear, isEdited, setEdited } = useGoal();
  if (goal === undefined && error === null) return <Loading />;
  return (
    <section className={styles['stack']} aria-label={texts.title}>
      <h3>{texts.title}</h3>
      {error === null ? null : <Failure error={error} onRetry={refetch} />}
      {goal === null ? <p className={styles['quiet']}>{texts.none}</p> : null}
      {goal ? <GoalStatus goal={goal} /> : null}
      {isEdited ? (
        <GoalForm
          before={goal?.objective ?? ''}
          isBusy={set.isPending}
          onSet={(request) => set.mutate(request)}
          onCancel={() => setEdited(false)}
        />
      ) : (
        <GoalActions
          hasGoal={goal !== null}
          isBusy={clear.isPending}
          onEdit={() => setEdited(true)}
          onRemove={clear.mutate}
        />
      )}
      {set.error === null ? null : <Failure error={set.error} />}
      {clear.error === null ? null : <Failure error={clear.error} />}
    </section>
  );
}

interface GoalActionsProps {
  readonly hasGoal: boolean;
  readonly isBusy: boolean;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

const GoalActions = ({ hasGoal, isBusy, onEdit, onRemove }: GoalActionsProps) => (
  <div className={styles['row']}>
    <Button onClick={onEdit}>{hasGoal ? texts.change : texts.set}</Button>
    {hasGoal ? (
      <Button look="danger" disabled={isBusy} onClick={() => onRemove()}>
        {texts.remove}
      </Button>
    ) : null}
  </div>
);

/** The goal of the conversation, null for none, and the ways to change it. */
function useGoal() {
  const { threadId, exists, revision, values } = useConversation();
  const [isEdited, setEdited] = useState(false);
  const queries = useQueryClient();
  const params = { thread_id: threadId };
  const queryKey = ['threads', threadId, 'goal'];
  const query = useQuery({
    queryKey: [...queryKey, revision, JSON.stringify(values.goal)],
    queryFn: ({ signal }) => getGoal({ params, signal }),
    enabled: exists,
  });
  const onSuccess = async (): Promise<void> => {
    setEdited(false);
    await queries.invalidateQueries({ queryKey });
  };
  const set = useMutation({ mutationFn: (body: GoalRequest) => setGoal({ params, body }), onSuccess });
  const clear = useMutation({ mutationFn: () => clearGoal({ params }), onSuccess });
  return {
    goal: exists ? query.data?.goal : null,
    error: query.error,
    refetch: (): void => void query.refetch(),
    ...{ set, clear, isEdited, setEdited },
  };
}

function GoalStatus({ goal }: { readonly goal: GoalState }) {
  const evaluation = goal.last_evaluation;
  return (
    <div className={styles['item']}>
      <p>
        <HiddenText text={goal.objective} />
      </p>
      <p className={styles['quiet']}>{texts.count(goal.continuation_count, goal.max_continuations)}</p>
      <p className={styles['quiet']}>{texts.noProgress(goal.no_progress_count, goal.max_no_progress_continuations)}</p>
      {evaluation === undefined ? null : (
        <details>
          <summary>
            {texts.evaluation}, {formatTime(evaluation.evaluated_at)}
          </summary>
          <p>
            <HiddenText text={evaluation.reason} />
          </p>
          {evaluation.stand_down_reason === undefined ? null : <p>{texts.stoodDown(evaluation.stand_down_reason)}</p>}
        </details>
      )}
    </div>
  );
}

type GoalRequest = EndpointInput<typeof goalRoutes.set>['body'];

interface GoalFormProps {
  readonly before: string;
  readonly isBusy: boolean;
  readonly onSet: (request: GoalRequest) => void;
  readonly onCancel: () => void;
}

function GoalForm({ before, isBusy, onSet, onCancel }: GoalFormProps) {
  const [objective, setObjective] = useState(before);
  const [continuations, setContinuations] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSet({
      objective: objective.trim(),
      ...(continuations === '' ? {} : { max_continuations: Number(continuations) }),
    });
  };
  return (
    <form className={styles['stack']} onSubmit={submit}>
      <label className={styles['field']}>
        {texts.label}
        <textarea
          className={styles['input']}
          rows={4}
          value={objective}
          maxLength={MAX_OBJECTIVE_CHARS}
          onChange={(event) => setObjective(event.target.value)}
        />
      </label>
      <p className={styles['quiet']}>{texts.tooLong(MAX_OBJECTIVE_CHARS)}</p>
      <label className={styles['field']}>
        {texts.continuations}
        <input
          className={styles['input']}
          type="number"
          min={0}
          max={100}
          step={1}
          value={continuations}
          onChange={(event) => setContinuations(event.target.value)}
        />
      </label>
      <div className={styles['row']}>
        <Button type="submit" look="primary" disabled={isBusy || objective.trim() === ''}>
          {texts.set}
        </Button>
        <Button onClick={onCancel}>{panels.close}</Button>
      </div>
    </form>
  );
}
