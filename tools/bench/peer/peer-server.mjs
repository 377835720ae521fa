import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import fastify from 'fastify';

/**
 * An agent server of one process, as somebody would write it with the OpenAI Agents SDK and Fastify: it streams an
 * agent's answer as SSE and has the messages of its threads in memory, where they are lost with the process.
 *
 *     node peer-server.mjs <base URL of the model>
 *
 * `POST /threads/<any id>/turns` with `{content}` is one turn. It is installed and started by peer-process.ts.
 */
const [modelUrl] = process.argv.slice(2);

const sizedResult = tool({
  name: 'sized_result',
  description: 'Gives a text of so many characters.',
  strict: false,
  parameters: {
    type: 'object',
    properties: { chars: { type: 'integer', minimum: 0 }, label: { type: 'string' } },
    required: ['chars'],
    additionalProperties: true,
  },
  execute: ({ chars }) => 'result '.repeat(Math.ceil(chars / 7)).slice(0, chars),
});

const agent = new Agent({
  name: 'assistant',
  instructions: 'You are a helpful assistant.',
  model: 'caribou-demo',
  tools: [sizedResult],
});

const runner = new Runner({
  modelProvider: new OpenAIProvider({ apiKey: 'scripted', baseURL: modelUrl, useResponses: false }),
  tracingDisabled: true,
});

/** Messages by thread. */
const threads = new Map();

const app = fastify();

app.post('/threads/:thread/turns', async (request, reply) => {
  const { thread } = request.params;
  const messages = [...(threads.get(thread) ?? []), { role: 'user', content: request.body.content }];
  reply.hijack();
  reply.raw.socket?.setNoDelay(true);
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
  try {
    const result = await runner.run(agent, messages, { stream: true });
    for await (const event of result) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
        reply.raw.write(frame('messages', [{ content: event.data.delta }, {}]));
    }
    await result.completed;
    threads.set(thread, result.history);
    reply.raw.end(frame('end', null));
  } catch (error) {
    reply.raw.end(frame('error', { message: String(error) }));
  }
});

const frame = (event, data) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ type: 'ready', port: app.server.address().port });
