/** `host`, `*.suffix` or an address, IPv6 in brackets, each with an optional port; libs/egress validates it fully. */
export const HOST_RULE = /^((\*\.)?[^\s*:[\]/\\@%?#]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?$/;
