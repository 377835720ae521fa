import fs from 'node:fs';
import os from 'node:os';
import { hasFreeProcessor } from './free-processor.js';

afterEach(() => jest.restoreAllMocks());

describe('hasFreeProcessor', () => {
  test.each([
    { running: 1, processors: 2, isFree: true },
    { running: 2, processors: 2, isFree: false },
    { running: 1, processors: 1, isFree: false },
    { running: 12, processors: 16, isFree: true },
  ])('with $running of $processors processors in use: $isFree', ({ running, processors, isFree }) => {
    jest.spyOn(fs, 'readFileSync').mockReturnValue(`0.39 2.79 16.90 ${running}/381 5288\n`);
    jest.spyOn(os, 'availableParallelism').mockReturnValue(processors);
    expect(hasFreeProcessor()).toBe(isFree);
  });
});
