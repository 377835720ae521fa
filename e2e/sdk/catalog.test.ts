import { Client } from 'langgraph-sdk-1-15';
import { type Stack, startStack } from '../support/stack.js';
import { calls, fields } from './catalog/catalog.js';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});

afterAll(() => stack.stop());

const proof = () => ({
  stack,
  client: new Client({ apiUrl: stack.client().base, callerOptions: { maxRetries: 0 } }),
});

describe('calls of @langchain/langgraph-sdk 1.15.0', () => {
  test.each(calls.map((entry) => ({ ...entry })))('$name: $verdict', async ({ prove }) => {
    expect.hasAssertions();
    await prove(proof());
  });
});

describe('options of its runs', () => {
  test.each(fields.map((entry) => ({ ...entry })))('$name: $verdict', async ({ prove }) => {
    expect.hasAssertions();
    await prove(proof());
  });
});
