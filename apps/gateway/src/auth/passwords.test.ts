import { scryptPasswords } from './passwords.js';

describe(scryptPasswords, () => {
  test('a password is kept under a salt of its own, with the parameters, and only it matches', async () => {
    const passwords = scryptPasswords();
    const [one, two] = await Promise.all([passwords.hash('correct horse'), passwords.hash('correct horse')]);
    expect(one).toMatch(/^scrypt\$15\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
    expect(two.split('$')[4]).not.toBe(one.split('$')[4]);
    expect(await passwords.matches('correct horse', two)).toBe(true);
    expect(await passwords.matches('correct horses', one)).toBe(false);
  });

  const cheap = scryptPasswords({ cost: { logN: 10, r: 8, p: 1 } });

  test('records of another cost go on to match, and letters that look the same are', async () => {
    const record = await cheap.hash('caf\u00e9 12345');
    expect(await scryptPasswords().matches('cafe\u0301 12345', record)).toBe(true);
  });

  test('nobody has any password, and what is no record is a defect', async () => {
    expect(await cheap.matches('', undefined)).toBe(false);
    for (const record of ['', 'scrypt$30$8$1$x$y', `${await cheap.hash('x')}x`])
      await expect(cheap.matches('x', record)).rejects.toThrow('malformed password hash');
  });

  test('as many as may wait do, in line, and more are refused', async () => {
    const narrow = scryptPasswords({ atOnce: 1, maxWaiting: 2, cost: { logN: 10, r: 8, p: 1 } });
    const settled = await Promise.allSettled(Array.from({ length: 5 }, () => narrow.hash('x')));
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(await narrow.hash('x')).toMatch(/^scrypt/);
  });
});
