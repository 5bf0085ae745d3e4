import { randomBytes } from 'node:crypto';
import type { Dialect, Engine } from './dialect.js';
import { affected, rows, type Work } from './work.js';

/** Tenants and their signing secrets. Secrets are written and read in this file only. */
export class Apps {
  constructor(private readonly engine: Engine) {}

  /** Creates the app with a fresh signing secret when it is new. */
  async ensure(app: string): Promise<void> {
    await this.engine.statements(() => createApp(this.engine.dialect, app, Date.now()));
  }

  /** Gives the app a new signing secret; the one before it stays valid beside it. An unknown app is created. */
  rotateSecret(app: string): Promise<string> {
    const { dialect } = this.engine;
    const secret = newSecret();
    return this.engine.transaction(function* () {
      yield* createApp(dialect, app, Date.now());
      yield* affected('UPDATE app SET previous_secret = signing_secret WHERE app = ?', app);
      yield* affected('UPDATE app SET signing_secret = ? WHERE app = ?', secret, app);
      return secret;
    });
  }

  /** Apps whose history is kept for another time than the global one, days. */
  retentions(): Promise<{ app: string; days: number }[]> {
    return this.engine.statements(() =>
      rows('SELECT app, retention_days AS days FROM app WHERE retention_days IS NOT NULL ORDER BY app'),
    );
  }

  /** `null`: the global retention holds. An unknown app is created. */
  async setRetention(app: string, days: number | null): Promise<void> {
    const { dialect } = this.engine;
    await this.engine.transaction(function* () {
      yield* createApp(dialect, app, Date.now());
      yield* affected('UPDATE app SET retention_days = ? WHERE app = ?', days, app);
    });
  }

  /** Newest first; empty for an unknown app. */
  secrets(app: string): Promise<string[]> {
    return this.engine.statements(function* () {
      const [row] = yield* rows<SecretColumns>('SELECT signing_secret, previous_secret FROM app WHERE app = ?', app);
      return row ? secretsOf(row) : [];
    });
  }
}

interface SecretColumns {
  signing_secret?: unknown;
  previous_secret?: unknown;
}

export function* createApp(dialect: Dialect, app: string, now: number): Work<void> {
  yield* affected(
    `${dialect.insertIgnore} INTO app (app, signing_secret, created_at) VALUES (?, ?, ?)`,
    app,
    newSecret(),
    Math.floor(now),
  );
}

export const secretsOf = (row: SecretColumns): string[] =>
  [row.signing_secret, row.previous_secret].filter((secret): secret is string => typeof secret === 'string');

const newSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`;
