import { AppError, NotFoundError } from './errors.js';

describe(AppError, () => {
  test('an error has the name of its class', () => {
    expect(new NotFoundError('there is no such thread').name).toBe('NotFoundError');
  });

  test('the number that a bundler adds to a class is no part of the name', () => {
    class QuietError2 extends AppError {}

    expect(new QuietError2('not_found', 'there is no such thread').name).toBe('QuietError');
  });
});
