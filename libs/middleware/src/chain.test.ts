import { fakeSandbox } from '@caribou/testing';
import { leadChain } from './chain.js';

describe(leadChain, () => {
  test('the order of the lead agent: clarification last, tool-error inside sandbox and audit, repair outside retries', () => {
    expect(leadChain({ sandbox: fakeSandbox() }).map(({ name }) => name)).toEqual([
      'thread-data',
      'uploads',
      'sandbox',
      'dangling-tool-call',
      'llm-error',
      'sandbox-audit',
      'tool-error',
      'title',
      'clarification',
    ]);
  });

  test('a model that reads images is shown them, behind all that shapes its request but clarification', () => {
    const names = leadChain({ sandbox: fakeSandbox() }, { vision: true }).map(({ name }) => name);
    expect(names.slice(-3)).toEqual(['title', 'view-image', 'clarification']);
  });
});
