import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { faultOfSubject, newSubjects } from './commit-subjects.js';

const repository = join(__dirname, '..', '..');

describe('faultOfSubject', () => {
  test.each(['gateway: answer 404', 'core, libs/config: rename', 'Merge branch "x"', 'Revert "gateway: answer 404"'])(
    'accepts %s',
    (subject) => {
      expect(faultOfSubject(subject)).toBeUndefined();
    },
  );

  test.each(['fixed a bug', 'Gateway: answer 404', 'gateway:', `gateway: ${'a'.repeat(92)}`])(
    'refuses %s',
    (subject) => {
      expect(faultOfSubject(subject)).toContain(subject);
    },
  );
});

describe('newSubjects', () => {
  let folder = '';

  const git = (...args: string[]) => {
    const config = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false'];
    execFileSync('git', [...config, ...args], { cwd: folder, stdio: 'ignore' });
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-commits-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('gives the commits of a branch that main does not have', () => {
    git('init', '--initial-branch=main');
    git('commit', '--allow-empty', '-m', 'an old commit on main');
    git('checkout', '-b', 'work');
    git('commit', '--allow-empty', '-m', 'docs: first');
    git('commit', '--allow-empty', '-m', 'docs: second');

    expect(newSubjects(folder)).toEqual(['docs: second', 'docs: first']);
  });

  test('gives nothing on main itself, and no answer without a repository', () => {
    expect(newSubjects(folder)).toBeUndefined();

    git('init', '--initial-branch=main');
    git('commit', '--allow-empty', '-m', 'an old commit on main');

    expect(newSubjects(folder)).toEqual([]);
  });
});

describe('commits of this branch', () => {
  test('have subjects as CONTRIBUTING.md asks for; skipped without a history to compare with', () => {
    const faults = (newSubjects(repository) ?? []).flatMap((subject) => faultOfSubject(subject) ?? []);

    expect(faults).toEqual([]);
  });
});
