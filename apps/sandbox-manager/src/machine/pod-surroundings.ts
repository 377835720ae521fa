import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import { copyMirrors } from '@caribou/files';
import type { SandboxSettings } from '@caribou/sandbox';

/** What the driver of pods needs of this process: whose pods they are, and how files come to them and back. */
export function podSurroundings(
  { homeDir, sandbox }: Config,
  { managerId, logger }: { readonly managerId: string; readonly logger: Logger },
): Required<Pick<SandboxSettings, 'managerId' | 'mirrors' | 'onBackgroundFailure'>> {
  const { workspaceBytes } = sandbox.kubernetes;
  return {
    managerId,
    mirrors: copyMirrors(homeDir, { maxBytes: workspaceBytes, maxFileBytes: workspaceBytes }),
    onBackgroundFailure: (error) =>
      logger.warn(
        { event: 'sandbox.background', outcome: 'error', error },
        'work for sandboxes failed and is repeated',
      ),
  };
}
