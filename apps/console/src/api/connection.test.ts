import { Connection } from './connection.js';

describe('Connection', () => {
  let answers = false;
  let probes = 0;
  const connect = () =>
    new Connection({
      probe: () => {
        probes += 1;
        return Promise.resolve(answers);
      },
      pausesMs: [1_000, 5_000],
    });

  beforeEach(() => {
    jest.useFakeTimers();
    answers = false;
    probes = 0;
  });
  afterEach(() => jest.useRealTimers());

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  test('one request without an answer is no loss while the gateway lives', async () => {
    answers = true;
    const connection = connect();
    connection.noteLoss();
    await pass(60_000);

    expect([connection.state.read(), probes]).toEqual(['up', 1]);
  });

  test('a loss is probed with growing pauses until an answer, and never again after it', async () => {
    const connection = connect();
    connection.noteLoss();
    connection.noteLoss();
    await pass(0);
    expect([connection.state.read(), probes]).toEqual(['down', 1]);
    await pass(1_000);
    expect(probes).toBe(2);
    await pass(4_999);
    expect(probes).toBe(2);
    connection.noteLoss();
    answers = true;
    await pass(1);
    expect([connection.state.read(), probes]).toEqual(['up', 3]);
    await pass(60_000);
    expect(probes).toBe(3);
  });

  test('the answer to any other request ends the loss', async () => {
    const connection = connect();
    const seen: string[] = [];
    connection.state.subscribe(() => seen.push(connection.state.read()));
    connection.noteLoss();
    await pass(0);
    connection.noteAnswer();
    await pass(60_000);

    expect([seen, probes]).toEqual([['down', 'up'], 1]);
  });

  test('a person who asks for it is not made to wait for the next probe', async () => {
    const connection = connect();
    connection.noteLoss();
    await pass(0);
    answers = true;
    connection.retryNow();
    await pass(0);

    expect(connection.state.read()).toBe('up');
  });
});
