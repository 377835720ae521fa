import { LauncherError } from '../processes/terminal.mjs';

const least = { major: 20, minor: 19 };

/** @throws {LauncherError} when this Node is older than the product needs */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > least.major || (major === least.major && minor >= least.minor)) return;
  throw new LauncherError(`Node ${least.major}.${least.minor} or newer is needed; this is ${process.versions.node}.`);
}
