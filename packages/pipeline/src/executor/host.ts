import type { Definition } from '../timer/timer.js';

const hosts = new WeakMap<Definition, string>();

/** The target's host and port: the key of its lane. A placeholder in it stays as written. */
export function hostOf(definition: Definition | undefined): string {
  if (!definition) return '';
  let host = hosts.get(definition);
  if (host === undefined) {
    host = URL.canParse(definition.notifyHttpParam.url) ? new URL(definition.notifyHttpParam.url).host : '';
    hosts.set(definition, host);
  }
  return host;
}
