import type { scheduledTaskRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

const listTasks = endpoint<typeof scheduledTaskRoutes.list>('GET', '/scheduled-tasks');
const listRuns = endpoint<typeof scheduledTaskRoutes.runs>('GET', '/scheduled-tasks/:task_id/runs');
export const createTask = endpoint<typeof scheduledTaskRoutes.create>('POST', '/scheduled-tasks');
export const removeTask = endpoint<typeof scheduledTaskRoutes.remove>('DELETE', '/scheduled-tasks/:task_id');
export const pauseTask = endpoint<typeof scheduledTaskRoutes.pause>('POST', '/scheduled-tasks/:task_id/pause');
export const resumeTask = endpoint<typeof scheduledTaskRoutes.resume>('POST', '/scheduled-tasks/:task_id/resume');
export const triggerTask = endpoint<typeof scheduledTaskRoutes.trigger>('POST', '/scheduled-tasks/:task_id/trigger');

export type Task = Awaited<ReturnType<typeof listTasks>>[number];
export type NewTask = Parameters<typeof createTask>[0]['body'];

export const TASKS = ['scheduled-tasks'] as const;

export const useTasks = () =>
  useQuery({
    queryKey: [...TASKS, 'list'],
    queryFn: ({ signal }) => listTasks({ signal }),
    refetchInterval: 15_000,
  });

/** The newest due times of a task with what became of them. */
export const useTaskRuns = (taskId: string) =>
  useQuery({
    queryKey: [...TASKS, 'runs', taskId],
    queryFn: ({ signal }) => listRuns({ params: { task_id: taskId }, query: { limit: 20 }, signal }),
  });
