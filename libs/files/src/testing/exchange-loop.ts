/** A program in Python that exchanges two names as fast as it can (renameat2 with RENAME_EXCHANGE); says so once it runs. */
export const exchangeLoop = `
import ctypes, sys
libc = ctypes.CDLL(None)
a, b = sys.argv[1].encode(), sys.argv[2].encode()
print('go', flush=True)
while True:
    if libc.renameat2(-100, a, -100, b, 2) != 0: sys.exit(1)
`;
