import { execFileSync } from 'node:child_process';

const MAX_CHARS = 100;
const MAX_COMMITS = 200;

/** One or more scopes with commas between them, then what the commit does. */
const SUBJECT = /^[a-z0-9][\w./-]*(, [a-z0-9][\w./-]*)*: \S/;

/** What is wrong with a commit's subject line; undefined when nothing is. Merges and reverts have git's own subjects. */
export function faultOfSubject(subject: string): string | undefined {
  if (/^(Merge|Revert) /.test(subject)) return undefined;
  if (!SUBJECT.test(subject)) return `"${subject}" must be "scope: imperative subject"`;
  if (subject.length > MAX_CHARS) return `"${subject}" has ${subject.length} characters, the limit is ${MAX_CHARS}`;
  return undefined;
}

/**
 * The subjects of the newest commits of a checkout that its main branch does not have. What is on main cannot be changed
 * any more, so nothing of it is checked.
 *
 * @returns undefined without git, a whole history or a main branch to compare with
 */
export function newSubjects(repository: string): readonly string[] | undefined {
  const git = (...args: string[]): string | undefined => {
    try {
      return execFileSync('git', args, {
        cwd: repository,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    } catch {
      return undefined;
    }
  };
  if (git('rev-parse', '--is-shallow-repository') !== 'false') return undefined;
  const main = ['refs/remotes/origin/main', 'refs/heads/main'].find((ref) => git('rev-parse', '--verify', ref));
  if (main === undefined) return undefined;
  const log = git('log', '--format=%s', `--max-count=${MAX_COMMITS}`, `${main}..HEAD`);
  return log?.split('\n').filter((subject) => subject !== '');
}
