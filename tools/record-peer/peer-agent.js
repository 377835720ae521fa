/**
 * The agent LangGraph's JS dev server runs while it is recorded: `createAgent` with four fake tools that return
 * fixed texts, and ChatOpenAI on the demo model. Copied as peer-agent.mjs into the folder with the peer's packages and this
 * `langgraph.json`: {"node_version":"20","graphs":{"lead_agent":"./peer-agent.mjs:graph"},"dependencies":["."]}
 */
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { z } from 'zod';

const model = new ChatOpenAI({
  model: 'caribou-demo',
  apiKey: 'unused',
  maxRetries: 0,
  streaming: true,
  streamUsage: true,
  useResponsesApi: false,
  configuration: { baseURL: process.env.DEMO_MODEL_URL },
});

const description = z.string().optional();

const bash = tool(
  async ({ command }, config) => {
    config.writer?.({ type: 'tool_log', text: `running ${command}` });
    return 'hi there';
  },
  { name: 'bash', description: 'Run a command.', schema: z.object({ description, command: z.string() }) },
);

const writeFile = tool(async () => 'OK', {
  name: 'write_file',
  description: 'Write a file.',
  schema: z.object({ description, path: z.string(), content: z.string() }),
});

const readFile = tool(async () => 'file text', {
  name: 'read_file',
  description: 'Read a file.',
  schema: z.object({ description, path: z.string() }),
});

const askClarification = tool(async ({ question }) => question, {
  name: 'ask_clarification',
  description: 'Ask the person.',
  schema: z.object({ question: z.string() }),
});

export const graph = createAgent({ model, tools: [bash, writeFile, readFile, askClarification] });
