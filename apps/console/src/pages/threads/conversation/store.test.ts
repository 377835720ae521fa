import { ApiError } from '../../../api/request.js';
import type { Frame } from '../state/frames.js';
import { feedPage, aiMessage, humanMessage } from '../testing/messages.js';
import { ConversationActions } from './actions.js';
import { ConversationStore } from './store.js';
import type { KnownRun, StorePorts } from './store-ports.js';

/** A server with one thread, whose runs are played back by the test. */
class FakeServer {
  runs: KnownRun[] = [];
  messages: Parameters<typeof feedPage>[0] = [];
  readonly asked: (string | undefined)[] = [];
  readonly created: string[] = [];
  createFailures: Error[] = [];
  streams: (readonly (Frame | Error)[])[] = [];
  /** Called when a stream has been read to its end. */
  onStreamed: () => void = () => undefined;

  readonly ports: StorePorts = {
    getThread: () => Promise.resolve({ values: { title: 'T' }, status: 'idle', interrupts: {} }),
    getPage: () => Promise.resolve(feedPage(this.messages)),
    listRuns: () => Promise.resolve(this.runs),
    createRun: (_threadId, _body, key) => {
      this.created.push(key);
      const failure = this.createFailures.shift();
      if (failure !== undefined) return Promise.reject(failure);
      this.runs = [{ run_id: 'run-1', status: 'running' }, ...this.runs];
      return Promise.resolve({ run_id: 'run-1' });
    },
    cancelRun: () => Promise.resolve(),
    join: (_run, after) => this.stream(after),
    schedule: (callback) => void setTimeout(callback, 0),
  };

  private async *stream(after: string | undefined): AsyncGenerator<Frame> {
    this.asked.push(after);
    for (const part of this.streams.shift() ?? []) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      // A run that is gone is in no list either.
      if (part instanceof ApiError && part.status === 404) this.runs = [];
      if (part instanceof Error) throw part;
      if (part.event === 'end') this.onStreamed();
      yield part;
    }
  }
}

const delta = (id: string, messageId: string, content: string): Frame => ({
  id,
  event: 'messages',
  data: [{ type: 'ai', id: messageId, content }, {}],
});
const end = (id: string): Frame => ({ id, event: 'end', data: null });

let server: FakeServer;
let store: ConversationStore;

beforeEach(() => {
  Object.assign(globalThis, { document: { hidden: false } });
  server = new FakeServer();
  store = new ConversationStore('thread', server.ports);
});

afterEach(() => store.close());

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 8_000;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`not reached: ${JSON.stringify(store.getView())}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const texts = (): string[] => {
  const { stored, live } = store.getView().conversation;
  return [...stored, ...live].map(({ text }) => text);
};

test('a page that is opened while a run is under way joins it, and shows its answer once after its end', async () => {
  server.runs = [{ run_id: 'run-1', status: 'running' }];
  server.messages = [humanMessage('h', 'hi')];
  server.streams = [
    [delta('1', 'a', 'Hel'), new ApiError(0, 'lost')],
    [delta('2', 'a', 'lo'), end('3')],
  ];
  server.onStreamed = () => {
    server.runs = [{ run_id: 'run-1', status: 'success' }];
    server.messages = [humanMessage('h', 'hi'), aiMessage('a', 'Hello')];
  };
  store.open({ isNew: false });
  await until(() => store.getView().revision === 1);
  expect(server.asked).toEqual([undefined, '1']);
  expect(texts()).toEqual(['hi', 'Hello']);
  expect(store.getView().conversation.run).toBeUndefined();
});

test('after a gap the feed is read, and the stream continues after the newest event', async () => {
  server.runs = [{ run_id: 'run-1', status: 'running' }];
  server.messages = [humanMessage('h', 'hi')];
  server.streams = [
    [delta('1', 'a', 'Hel'), { event: 'gap', data: { latest_available_event_id: '40' } }],
    [delta('41', 'b', 'the end'), end('42')],
  ];
  server.onStreamed = () => {
    server.runs = [{ run_id: 'run-1', status: 'success' }];
    server.messages = [humanMessage('h', 'hi'), aiMessage('a', 'Hello'), aiMessage('b', 'whole: the end')];
  };
  store.open({ isNew: false });
  await until(() => store.getView().revision === 1);
  expect(server.asked).toEqual([undefined, '40']);
  expect(texts()).toEqual(['hi', 'Hello', 'whole: the end']);
});

test('a message that gets no answer is sent again under the same key, and is shown once', async () => {
  const actions = new ConversationActions(store, server.ports, () => ({}));
  server.createFailures = [new ApiError(0, 'no answer'), new ApiError(503, 'away')];
  server.streams = [[delta('1', 'a', 'ok'), end('2')]];
  server.onStreamed = () => {
    const said = store.getView().conversation.pending[0]?.id ?? 'h';
    server.runs = [{ run_id: 'run-1', status: 'success' }];
    server.messages = [humanMessage(said, 'question'), aiMessage('a', 'ok')];
  };
  store.open({ isNew: true });
  await actions.send('question', [], 'enqueue');
  await until(() => store.getView().revision === 1);
  expect(server.created).toHaveLength(3);
  expect(new Set(server.created).size).toBe(1);
  expect(texts()).toEqual(['question', 'ok']);
  expect(store.getView().conversation.pending).toEqual([]);
});

test('a refused message is not shown, and the refusal is given to the caller', async () => {
  const actions = new ConversationActions(store, server.ports, () => ({}));
  server.createFailures = [new ApiError(429, 'too many runs')];
  await expect(actions.send('question', [], 'enqueue')).rejects.toMatchObject({ status: 429 });
  expect(store.getView().conversation.pending).toEqual([]);
});

test('what a run that was rolled back had streamed goes', async () => {
  server.runs = [{ run_id: 'run-1', status: 'running' }];
  server.streams = [[delta('1', 'a', 'Hel'), new ApiError(0, 'lost')], [new ApiError(404, 'no such run')]];
  store.open({ isNew: false });
  await until(() => store.getView().revision === 1);
  expect(server.asked).toEqual([undefined, '1']);
  expect(texts()).toEqual([]);
});
