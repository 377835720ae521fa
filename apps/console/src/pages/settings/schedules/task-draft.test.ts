import { describeSchedule, emptyTask, type TaskDraft, taskFaults, toTask } from './task-draft.js';

const draft = (over: Partial<TaskDraft>): TaskDraft => ({
  ...emptyTask('Europe/Berlin'),
  title: 'News',
  prompt: 'Read the news',
  ...over,
});

describe(toTask, () => {
  test('each rhythm gives its schedule', () => {
    const scheduleOf = (over: Partial<TaskDraft>) => {
      const { schedule_type, schedule_spec } = toTask(draft(over));
      return [schedule_type, schedule_spec];
    };
    expect(scheduleOf({ rhythm: 'daily', time: '07:05' })).toEqual(['cron', { cron: '5 7 * * *' }]);
    expect(scheduleOf({ rhythm: 'weekly', time: '23:00', weekday: '0' })).toEqual(['cron', { cron: '0 23 * * 0' }]);
    expect(scheduleOf({ rhythm: 'cron', cron: ' 0 9 * * 1-5 ' })).toEqual(['cron', { cron: '0 9 * * 1-5' }]);
    expect(scheduleOf({ rhythm: 'interval', minutes: '90' })).toEqual(['interval', { every_seconds: 5_400 }]);
    expect(scheduleOf({ rhythm: 'once', at: '2026-12-01T08:30' })).toEqual(['once', { run_at: '2026-12-01T08:30:00' }]);
  });

  test('limits and the agent are only there when they were given', () => {
    expect(toTask(draft({}))).toEqual({
      title: 'News',
      prompt: 'Read the news',
      timezone: 'Europe/Berlin',
      schedule_type: 'cron',
      schedule_spec: { cron: '0 9 * * *' },
    });
    expect(toTask(draft({ assistant: 'poet', maxRuns: ' 3 ' }))).toMatchObject({ assistant_id: 'poet', max_runs: 3 });
  });
});

describe(taskFaults, () => {
  test('only the values of the chosen rhythm are checked, and the limit', () => {
    const wrong = { time: '24:00', minutes: '0', at: 'soon', cron: '* * *' };
    const faultsOf = (over: Partial<TaskDraft>) => taskFaults(draft({ ...wrong, ...over }));
    expect(faultsOf({ rhythm: 'daily' })).toEqual(['time']);
    expect(faultsOf({ rhythm: 'weekly' })).toEqual(['time']);
    expect(faultsOf({ rhythm: 'interval' })).toEqual(['minutes']);
    expect(faultsOf({ rhythm: 'once' })).toEqual(['at']);
    expect(faultsOf({ rhythm: 'cron', maxRuns: '1.5' })).toEqual(['cron', 'maxRuns']);
    expect(taskFaults(draft({ rhythm: 'interval', minutes: '43200', maxRuns: '1000000' }))).toEqual([]);
    expect(taskFaults(draft({ rhythm: 'interval', minutes: '43201' }))).toEqual(['minutes']);
  });
});

describe(describeSchedule, () => {
  test('names what the schedule has', () => {
    const specs = [
      { cron: '0 9 * * *' },
      { every_seconds: 5_400 },
      { every_seconds: 90 },
      { run_at: '2026-12-01T08:00:00' },
      {},
    ];
    expect(specs.map((schedule_spec) => describeSchedule({ schedule_spec }))).toEqual([
      '0 9 * * *',
      '90 min',
      '90 s',
      '2026-12-01T08:00:00',
      '',
    ]);
  });
});
