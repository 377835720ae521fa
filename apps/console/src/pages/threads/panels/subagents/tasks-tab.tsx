import type { runRoutes, taskRoutes } from '@caribou/contracts';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endpoint } from '../../../../api/endpoint.js';
import { Button } from '../../../../components/button.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { panels } from '../../../../text/panels.js';
import { useConversation } from '../../conversation-context.js';
import styles from '../panels.module.css';
import { TaskItem } from './task-item.js';

const listRuns = endpoint<typeof runRoutes.list>('GET', '/threads/:thread_id/runs');
const listTasks = endpoint<typeof taskRoutes.list>('GET', '/threads/:thread_id/runs/:run_id/tasks');

const { tasks: texts } = panels;

/** Runs whose tasks are read at once; each is a request. */
const RUNS_OF_PAGE = 10;
const MAX_RUNS = 100;
const REFRESH_MS = 3_000;

/** What subagents do and did in the newest runs of the conversation. */
export function TasksTab() {
  const [count, setCount] = useState(RUNS_OF_PAGE);
  const { tasks, runs, error, refetch } = useTasks(count);
  if (error !== null) return <Failure error={error} onRetry={refetch} />;
  if (tasks === undefined) return <Loading />;
  return (
    <div className={styles['stack']}>
      <h2>{panels.tabs.tasks}</h2>
      {tasks.length === 0 ? <p className={styles['quiet']}>{texts.none}</p> : null}
      <ul className={styles['list']}>
        {tasks.map((task) => (
          <TaskItem key={`${task.run_id} ${task.task_id}`} task={task} />
        ))}
      </ul>
      {runs < count || count >= MAX_RUNS ? null : (
        <Button onClick={() => setCount(count + RUNS_OF_PAGE)}>{panels.earlier}</Button>
      )}
    </div>
  );
}

/** The tasks of the newest runs, the newest first; those of the run under way are read again and again. */
function useTasks(count: number) {
  const { threadId, revision, runInFlight } = useConversation();
  const runs = useQuery({
    queryKey: ['threads', threadId, 'runs', 'of-tasks', count, revision, runInFlight?.runId],
    queryFn: ({ signal }) =>
      listRuns({ params: { thread_id: threadId }, query: { limit: count, select: ['run_id'] }, signal }),
    placeholderData: (before) => before,
  });
  const runIds = (runs.data ?? []).flatMap(({ run_id: id }) => (id === undefined ? [] : [id]));
  const lists = useQueries({
    queries: runIds.map((runId) => {
      const isLive = runId === runInFlight?.runId;
      return {
        queryKey: ['threads', threadId, 'tasks', runId, isLive ? 'live' : revision],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          listTasks({ params: { thread_id: threadId, run_id: runId }, signal }),
        refetchInterval: isLive ? REFRESH_MS : (false as const),
      };
    }),
  });
  const isRead = runs.data !== undefined && lists.every(({ isLoading }) => !isLoading);
  return {
    tasks: isRead ? lists.flatMap(({ data }) => [...(data ?? [])].reverse()) : undefined,
    runs: runIds.length,
    error: runs.error ?? lists.find((list) => list.error !== null)?.error ?? null,
    refetch: (): void => void Promise.all([runs, ...lists].map((query) => query.refetch())),
  };
}
