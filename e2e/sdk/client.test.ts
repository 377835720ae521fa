import { type Stack, startStack } from '../support/stack.js';
import { describeCrons } from './crons-suite.js';
import { describeMultitask } from './multitask-suite.js';
import { describeReconnect, describeThreadReconnect } from './reconnect-suite.js';
import { describeRefusals } from './refusals-suite.js';
import { describeRuns } from './runs-suite.js';
import { SDK_LINES } from './sdk-client.js';
import { describeStreams } from './streams-suite.js';
import { describeThreads } from './threads-suite.js';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});

afterAll(() => stack.stop());

describe.each(SDK_LINES)('@langchain/langgraph-sdk $version', (line) => {
  const use = () => ({ stack, client: line.connect(stack.client().base) });

  describeThreads(use);
  describeStreams(use);
  describeRuns(use);
  describeMultitask(use);
  describeRefusals(use);
});

describeReconnect(() => stack);
describeCrons(() => stack);
describeThreadReconnect(() => stack);
