/** The node can't start as things are; the message says why and what to do, and is all that is printed. */
export class StartError extends Error {
  readonly code = 'START';
  override name = 'StartError';
}
