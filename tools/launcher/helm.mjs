import { installHelm } from './machine/helm.mjs';

/** `node tools/launcher/helm.mjs`: builds the helm that the tests of the chart and `npm run generate` use. */
process.exitCode = (await installHelm({})) ? 0 : 1;
