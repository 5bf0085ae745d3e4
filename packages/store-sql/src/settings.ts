import type { Engine } from './dialect.js';
import { affected, rows, type Work } from './work.js';

/** Cluster-wide values that are not configuration: made at first start and kept. */
export class Settings {
  constructor(private readonly engine: Engine) {}

  /** `null`: never set. */
  get(name: string): Promise<string | null> {
    return this.engine.statements(() => read(name));
  }

  async set(name: string, value: string): Promise<void> {
    const sql = `INSERT INTO setting (name, value) VALUES (?, ?) ${this.engine.dialect.orUpdate('name', ['value'])}`;
    await this.engine.statements(() => affected(sql, name, value));
  }

  /** Resolves to the value that stands, ours or the one that was there first. */
  setIfAbsent(name: string, value: string): Promise<string> {
    const sql = `${this.engine.dialect.insertIgnore} INTO setting (name, value) VALUES (?, ?)`;
    return this.engine.statements(function* () {
      yield* affected(sql, name, value);
      return (yield* read(name)) ?? value;
    });
  }
}

function* read(name: string): Work<string | null> {
  const [row] = yield* rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', name);
  return row?.value ?? null;
}
