/** Keeps the event loop busy for so long. */
export function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Makes the event loop late until the returned function is called. */
export function loadEventLoop(ms: number): () => void {
  let timer: NodeJS.Timeout;
  const stall = (): void => {
    block(ms);
    timer = setTimeout(stall, 10);
  };
  timer = setTimeout(stall, 0);
  return () => clearTimeout(timer);
}
