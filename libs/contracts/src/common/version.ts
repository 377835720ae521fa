/** The version of the product, which all services of one build have. */
export const VERSION = '0.1.0';
