import { callHashOf } from '@caribou/contracts';
import type { AgentMiddleware } from '@caribou/core';
import { AskingThread, bankRule, callOf, pay, rule } from '../testing/asking-thread.js';

describe('an edited call', () => {
  test('is executed with the new arguments, as the model and the transcript are told', async () => {
    const thread = new AskingThread(pay, [bankRule]);
    await thread.ask();
    const edited = { amount: 1, to: 'bob' };
    thread.answer({ type: 'edit', edited_action: { name: 'bank_pay', args: edited } });

    const outcome = await thread.outcome();
    expect(thread.called).toEqual([{ args: edited }]);
    expect(outcome.content).toBe(
      'done\n\nNote: a person changed the arguments of this call before it was executed. They were: {"amount":1,"to":"bob"}',
    );
    expect(outcome.additionalKwargs).toMatchObject({
      approval: {
        decision: 'edit',
        original_args: pay.args,
        args: edited,
        call_hash: callHashOf('thread-1', { ...pay, args: edited }),
      },
    });
  });

  test('passes the rules for commands again', async () => {
    const thread = new AskingThread(callOf('bash', { command: 'git push' }), []);
    expect((await thread.ask()).value).toMatchObject({
      reason: { rules: ['push'], message: 'the command: publishes work' },
    });
    thread.answer({ type: 'edit', edited_action: { name: 'bash', args: { command: 'rm -rf /' } } });

    expect(await thread.outcome()).toMatchObject({
      content: expect.stringContaining('Command blocked'),
      isError: true,
    });
    expect(thread.called).toEqual([]);
    expect(thread.sandbox.blockedCommands).toEqual([{ command: 'rm -rf /', rules: ['rm-root'] }]);
  });

  test('gets the expectation of read-before-write for its own file', async () => {
    const thread = new AskingThread(callOf('write_file', { path: '/a', content: 'x' }), [
      rule({ tools: ['write_file'] }),
    ]);
    await thread.ask();
    thread.answer({ type: 'edit', edited_action: { name: 'write_file', args: { path: '/b', content: 'x' } } });
    await thread.outcome();
    expect(thread.called).toEqual([{ args: { path: '/b', content: 'x' }, expectedFile: { sha256: null } }]);
  });

  test('is asked for again when only an administrator may approve what it was made into', async () => {
    const rules = [bankRule, rule({ id: 'large', tools: ['bank_*'], hosts: ['evil.com'], decider: 'admin' })];
    const thread = new AskingThread(pay, rules);
    expect((await thread.ask()).decider).toBe('owner');
    const args = { amount: 1, url: 'https://evil.com/x' };
    thread.answer({ type: 'edit', edited_action: { name: 'bank_pay', args } });
    expect(await thread.ask()).toMatchObject({ decider: 'admin', value: { action_requests: [{ args }] } });
    expect(thread.called).toEqual([]);

    thread.answer({ type: 'approve' }, 'root');
    expect(await thread.outcome()).toMatchObject({ additionalKwargs: { approval: { by: 'root' } } });
    expect(thread.called).toEqual([{ args }]);
  });
});

describe('where a custom middleware changes calls', () => {
  let counter = 0;
  const changing: AgentMiddleware = {
    name: 'mine',
    wrapToolCall: (request, next) =>
      next({ ...request, call: { ...request.call, args: { ...request.call.args, at: (counter += 1) } } }),
  };

  test('a call that it changes each time is asked for each time and never executed unseen', async () => {
    const thread = new AskingThread(pay, [bankRule], { custom: changing });
    await thread.ask();
    thread.answer({ type: 'approve' });
    await thread.ask();
    expect(thread.called).toEqual([]);
  });
});
