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
});
