import { type Stack, startStack } from '../support/stack.js';
import { SDK_LINES } from './sdk-client.js';
import { describeSubagents } from './subagents-suite.js';

jest.setTimeout(120_000);

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ pools: 2 });
});

afterAll(() => stack.stop());

describe.each(SDK_LINES)('@langchain/langgraph-sdk $version', (line) => {
  describeSubagents(() => ({ stack, client: line.connect(stack.client().base) }));
});
