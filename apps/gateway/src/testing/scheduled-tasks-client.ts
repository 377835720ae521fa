import { newId, type ScheduledTaskReply, type ScheduledTaskRunReply } from '@caribou/contracts';
import type { TimersFixture } from './timers-fixture.js';

/** Configuration of a gateway whose tasks may have short intervals. */
export const SHORT_INTERVALS = 'crons:\n  min_interval_seconds: 2\n';

/** Requests about scheduled tasks of a user, and the runner of their runs; the fixture is opened before the tests. */
export function scheduledTasksOf(timers: () => TimersFixture) {
  const ask = <Body = ScheduledTaskReply>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path = '',
    body?: object,
    user = 'alice',
  ) => timers().send<Body>(method, `/scheduled-tasks${path}`, body, { user });
  async function claim(threadId: string) {
    const claimed = await timers().runner.claim({ userId: 'alice', threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    return claimed;
  }
  return {
    ask,
    create: async (body: object): Promise<ScheduledTaskReply> => {
      const answer = await ask('POST', '', body);
      if (answer.status !== 200) throw new Error(answer.body.detail);
      return answer.body;
    },
    runsOf: async (id: string) => (await ask<ScheduledTaskRunReply[]>('GET', `/${id}/runs`)).body,
    claim,
    /** Starts a run of a task by hand and claims it. */
    claimTriggered: async (taskId: string) =>
      claim((await ask<{ thread_id: string }>('POST', `/${taskId}/trigger`)).body.thread_id),
    finish: ({ lease }: Awaited<ReturnType<typeof claim>>) =>
      timers().runner.finish(lease, { status: 'success', events: [] }),
  };
}
