import { DeadlineError, SandboxPublish, UnavailableError } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { PublishRequests } from './publish-requests.js';

const M1 = { managerId: 'm1', machine: 'here' };
const thread = { userId: 'alice', threadId: 't1' };

describe(PublishRequests, () => {
  let subjects: string[];
  let warnings: string[];
  let answer: (subject: string) => Promise<unknown>;
  const requests = (): PublishRequests =>
    new PublishRequests(
      {
        call: async ({ contract, subject = contract.name }) => {
          subjects.push(subject);
          return contract.reply.parse(await answer(subject));
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
    await Promise.all([asked.ask(thread, M1), asked.ask(thread, M1), asked.ask({ ...thread, threadId: 't2' }, M1)]);
    expect(subjects).toEqual(Array(2).fill(`sandbox.m1.${SandboxPublish.name}`));
    await asked.ask(thread, M1);
    expect(subjects).toHaveLength(3);
  });

  test('a manager that does not answer is not asked again at once, and no reader fails', async () => {
    const asked = requests();
    answer = () => Promise.reject(new DeadlineError('no answer'));
    await asked.ask(thread, M1);
    await asked.ask({ ...thread, threadId: 't2' }, M1);
    await asked.ask(thread, { ...M1, managerId: 'm2' });
    expect(subjects.map((subject) => subject.split('.')[1])).toEqual(['m1', 'here', 'm2', 'here']);
    expect(warnings).toHaveLength(2);
  });

  test('another manager of the machine is asked for what one that does not answer has left', async () => {
    answer = (subject) =>
      subject.startsWith('sandbox.m1.')
        ? Promise.reject(new UnavailableError('nobody listens'))
        : Promise.resolve({ outcome: 'published' });
    const asked = requests();
    await asked.ask(thread, M1);
    await asked.ask(thread, M1);
    const both = ['sandbox.m1.publish', 'sandbox.here.publish_left'];
    expect([subjects, warnings]).toEqual([[...both, ...both], []]);
  });
});
