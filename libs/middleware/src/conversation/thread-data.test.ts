import { fakeRun } from '@caribou/testing';
import { THREAD_DIRECTORIES, threadData } from './thread-data.js';

describe(threadData, () => {
  test('the state gets virtual paths, and only once', async () => {
    const first = await threadData().beforeAgent?.({ messages: [] }, fakeRun());
    const second = await threadData().beforeAgent?.({ messages: [], thread_data: THREAD_DIRECTORIES }, fakeRun());

    expect(first).toEqual({ update: { thread_data: THREAD_DIRECTORIES } });
    expect(Object.values(THREAD_DIRECTORIES).every((path) => path.startsWith('/mnt/user-data/'))).toBe(true);
    expect(second).toBeUndefined();
  });
});
