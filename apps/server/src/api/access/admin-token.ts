import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** What the database keeps small facts in. */
export interface Settings {
  get(key: string): Promise<string | null>;
  /** Resolves to the value that stands afterwards: ours, or the one that was there. */
  setIfAbsent(key: string, value: string): Promise<string>;
}

const KEY = 'adminTokenHash';

/**
 * The administrator's bearer token. A random one has 256 bits, so a plain SHA-256 is as good as a slow hash;
 * one from the environment is never stored.
 */
export class AdminToken {
  private constructor(
    private readonly hash: string,
    /** Set once, in the process that made it: it can't be shown again. */
    readonly shownOnce: string | null,
    readonly source: 'environment' | 'database',
  ) {}

  /** Nodes that start together on an empty database agree on the token of one of them. */
  static async settle(fromEnvironment: string | null, settings: Settings): Promise<AdminToken> {
    if (fromEnvironment !== null) return new AdminToken(hashOf(fromEnvironment), null, 'environment');
    const stored = await settings.get(KEY);
    if (stored !== null) return new AdminToken(stored, null, 'database');
    const made = `xta_${randomBytes(32).toString('base64url')}`;
    const standing = await settings.setIfAbsent(KEY, hashOf(made));
    return new AdminToken(standing, standing === hashOf(made) ? made : null, 'database');
  }

  matches(token: string): boolean {
    const [given, wanted] = [Buffer.from(hashOf(token)), Buffer.from(this.hash)];
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
