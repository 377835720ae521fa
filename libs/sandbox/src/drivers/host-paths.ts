/** Absolute paths, but those that commands see too; what follows a scheme or a name is no path of this machine. */
const HOST_PATH = /(?<![\w.:/-])\/(?!mnt\/(?:user-data|skills)\b)[^\s:;,'"`()<>]+/g;

/** The text without directories and sockets of this machine, for users and models; the operator's log has them. */
export const withoutHostPaths = (text: string): string => text.replace(HOST_PATH, '(a path of the host)');
