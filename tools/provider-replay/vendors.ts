import type { VendorDefinition } from './framework/vendor.js';
import { openai } from './vendors/openai/openai.js';

const vendors: readonly VendorDefinition[] = [openai];

/**
 * The vendor of this name.
 *
 * @throws TypeError that lists the names there are.
 */
export function vendorNamed(name: string): VendorDefinition {
  const vendor = vendors.find((one) => one.name === name);
  if (vendor === undefined) {
    throw new TypeError(`--vendor must be one of ${vendors.map((one) => one.name).join(', ')}, not "${name}"`);
  }
  return vendor;
}
