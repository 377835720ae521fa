import { Client } from 'langgraph-sdk-1-15';
import { nonce, type Stack } from '../support/stack.js';

const input = () => ({ messages: [{ role: 'user', content: `${nonce()}\n#say done` }] });

/** What the SDK calls for crons and delayed runs; earlier versions have fewer of these calls. */
export function describeCrons(use: () => Stack): void {
  describe('crons and delayed runs of @langchain/langgraph-sdk 1.15', () => {
    const connect = () => new Client({ apiUrl: use().client().base });

    test('a cron of its own threads is created, found, counted, changed and deleted', async () => {
      const { crons } = connect();
      const cron = await crons.create('lead_agent', {
        schedule: '0 7 * * 1-5',
        timezone: 'Europe/Berlin',
        input: input(),
        metadata: { team: 'blue' },
        onRunCompleted: 'keep',
        multitaskStrategy: 'enqueue',
        endTime: '2199-01-01T00:00:00Z',
      });
      expect(Date.parse(cron.next_run_date)).toBeGreaterThan(Date.parse(cron.created_at));
      const filter = { metadata: { team: 'blue' }, assistantId: 'lead_agent' };
      const [found] = await crons.search({ ...filter, enabled: true, sortBy: 'next_run_date' });
      expect(found).toMatchObject({ cron_id: cron.cron_id, on_run_completed: 'keep', timezone: 'Europe/Berlin' });
      expect(await crons.count(filter)).toBe(1);

      const changed = await crons.update(cron.cron_id, { enabled: false, endTime: null });
      expect(changed).toMatchObject({ enabled: false, end_time: null, next_run_date: null });
      await crons.delete(cron.cron_id);
      expect(await crons.count(filter)).toBe(0);
    });

    test('a cron belongs to a thread', async () => {
      const { crons, threads } = connect();
      const { thread_id: threadId } = await threads.create();
      const cron = await crons.createForThread(threadId, 'lead_agent', { schedule: '@daily', input: input() });
      expect(cron.thread_id).toBe(threadId);
      expect(await crons.search({ threadId, select: ['cron_id'] })).toEqual([{ cron_id: cron.cron_id }]);
      await crons.delete(cron.cron_id);
    });

    test('what is not possible is refused with the name of the field', async () => {
      const { crons } = connect();
      const refusal = (more: object) => crons.create('lead_agent', { schedule: '* * * * *', input: input(), ...more });

      await expect(refusal({ schedule: '* * * * * *' })).rejects.toThrow('crons.min_interval_seconds');
      await expect(refusal({ timezone: 'Mars/Base' })).rejects.toThrow('timezone');
      await expect(refusal({ webhook: 'http://127.0.0.1/' })).rejects.toThrow('webhook');
    });

    test('a delayed run is pending, then succeeds', async () => {
      const { runs, threads } = connect();
      const { thread_id: threadId } = await threads.create();
      const run = await runs.create(threadId, 'lead_agent', { input: input(), afterSeconds: 1 });
      expect(run.status).toBe('pending');
      await runs.join(threadId, run.run_id);

      expect((await runs.get(threadId, run.run_id)).status).toBe('success');
    });
  });
}
