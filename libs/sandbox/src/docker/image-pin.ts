import type { ImageInspectInfo } from 'dockerode';

/**
 * Why an image is not the one that its setting pins, or null: `sha256:…` names the image's id, as of one that was built here,
 * `name@sha256:…` the digest a registry gave it. A setting with a tag pins nothing.
 */
export function pinProblem(setting: string, { Id, RepoDigests }: ImageInspectInfo): string | null {
  const digest = /(?:^|@)(sha256:.*)$/.exec(setting)?.[1];
  if (digest === undefined) return null;
  if (!/^sha256:[0-9a-f]{64}$/.test(digest))
    return `${setting} is not a whole digest (sha256: and 64 hexadecimal digits)`;
  const has = setting === digest ? Id === digest : RepoDigests?.some((known) => known.endsWith(`@${digest}`)) === true;
  return has ? null : `the docker engine has another image than ${setting}`;
}
