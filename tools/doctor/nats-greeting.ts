import { connect } from 'node:net';
import { z } from 'zod';

const MAX_CHARS = 65_536;

const Greeting = z.object({
  version: z.string(),
  jetstream: z.boolean().default(false),
  max_payload: z.number(),
});
export type Greeting = z.infer<typeof Greeting>;

/** Reads the greeting of a nats-server, which describes it. Not over WebSockets. */
export function natsGreeting(url: string, timeoutMs: number): Promise<Greeting | 'not asked' | 'no answer'> {
  const [first = ''] = url.split(',');
  const { hostname, port, protocol } = new URL(first.trim());
  if (!/^(nats|tls):$/.test(protocol)) return Promise.resolve('not asked');
  return new Promise((resolve) => {
    let text = '';
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(parseGreeting(text) ?? 'no answer');
    };
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 4222 : Number(port) });
    const timer = setTimeout(end, timeoutMs);
    socket.on('data', (data) => {
      text += data.toString('utf8');
      if (text.includes('\n') || text.length > MAX_CHARS) end();
    });
    socket.once('error', end);
    socket.once('close', end);
  });
}

function parseGreeting(text: string): Greeting | undefined {
  const json = /^INFO (\{.*\})\s/.exec(text)?.[1];
  if (json === undefined) return undefined;
  try {
    const greeting = Greeting.safeParse(JSON.parse(json));
    return greeting.success ? greeting.data : undefined;
  } catch {
    // The other side is not a nats-server.
    return undefined;
  }
}
