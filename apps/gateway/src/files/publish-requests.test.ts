import { DeadlineError, SandboxPublish } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { ObjectStoreCheck } from './object-store-check.js';
import { PublishRequests } from './publish-requests.js';

const thread = { userId: 'alice', threadId: 't1' };

describe(PublishRequests, () => {
  let subjects: string[];
  let warnings: string[];
  let answer: () => Promise<unknown>;
  const requests = (): PublishRequests =>
    new PublishRequests(
      {
        call: async ({ contract, subject = contract.name }) => {
          subjects.push(subject);
          return contract.reply.parse(await answer());
        },
      },
      { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) },
    );
  beforeEach(() => {
    [subjects, warnings] = [[], []];
    answer = () => Promise.resolve({ outcome: 'published' });
  });

  test('readers of one thread wait for one request to its manager', async () => {
    const asked = requests();
    await Promise.all([
      asked.ask(thread, 'm1'),
      asked.ask(thread, 'm1'),
      asked.ask({ ...thread, threadId: 't2' }, 'm1'),
    ]);
    expect(subjects).toEqual(Array(2).fill(`sandbox.m1.${SandboxPublish.name}`));
    await asked.ask(thread, 'm1');
    expect(subjects).toHaveLength(3);
  });

  test('a manager that does not answer is not asked again at once, and no reader fails', async () => {
    const asked = requests();
    answer = () => Promise.reject(new DeadlineError('no answer'));
    await asked.ask(thread, 'm1');
    await asked.ask({ ...thread, threadId: 't2' }, 'm1');
    await asked.ask(thread, 'm2');
    expect(subjects.map((subject) => subject.split('.')[1])).toEqual(['m1', 'm2']);
    expect(warnings).toHaveLength(2);
  });
});

describe(ObjectStoreCheck, () => {
  test('asks at most once in five seconds, and says what failed', async () => {
    let [asked, nowMs] = [0, 0];
    let isAway = false;
    const head = () => {
      asked += 1;
      return isAway ? Promise.reject(new Error('away')) : Promise.resolve(undefined);
    };
    const check = new ObjectStoreCheck({ head }, () => nowMs);
    await Promise.all([check.check(), check.check()]);
    expect(asked).toBe(1);
    isAway = true;
    nowMs = 5_000;
    await expect(check.check()).rejects.toThrow('away');
    await expect(check.check()).rejects.toThrow('away');
    expect(asked).toBe(2);
  });
});
