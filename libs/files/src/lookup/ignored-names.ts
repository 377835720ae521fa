import { globPattern } from './glob-pattern.js';

/** Names that listings and searches pass over, with all below them: made by programs, large, and rarely looked for. */
const ignored: readonly string[] = [
  // Version control
  ...['.git', '.svn', '.hg', '.bzr'],
  // Installed packages and environments
  ...['node_modules', 'bower_components', 'site-packages', '.venv', 'venv', '.env', 'env', '.tox', '.nox', '.eggs'],
  '*.egg-info',
  // Caches
  ...['__pycache__', '.cache', '*.cache', '.pytest_cache', '.mypy_cache', '.ruff_cache', '.turbo', '.parcel-cache'],
  // What builds and test runs put out
  ...['dist', 'build', 'target', 'out', '.next', '.nuxt', '.output', 'coverage', '.coverage', '.nyc_output', 'htmlcov'],
  // Large results of tools: the agent is told the path of each
  '.tool-results',
  // Editors
  ...['.idea', '.vscode', '.project', '.classpath', '.settings', '*.swp', '*.swo', '*~'],
  // Logs and temporary files
  ...['logs', '*.log', '*.tmp', '*.temp', '*.bak', '.caribou-*'],
  // Operating systems
  ...['.DS_Store', 'Thumbs.db', 'desktop.ini', '*.lnk'],
];

const isPattern = (name: string): boolean => name.includes('*');
const names = new Set(ignored.filter((name) => !isPattern(name)));
const patterns = ignored.filter(isPattern).map(globPattern);

/** Whether listings and searches pass over a file or directory of this name. */
export const isIgnoredName = (name: string): boolean => names.has(name) || patterns.some((fits) => fits(name));
