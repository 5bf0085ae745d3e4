import { type Definition, defaultTopicPolicies, jobPolicies, TOPIC_SPAN, type Topic } from '@xtimer/pipeline';
import { createApp, secretsOf } from './apps.js';
import type { Dialect } from './dialect.js';
import { stored } from './task-rows.js';
import { affected, rows, type Work } from './work.js';

type Written = Omit<Topic, 'topicId' | 'revision'>;
type Row = Record<string, unknown>;

/** Each field that a caller writes, and its column. */
const COLUMNS: Record<keyof Written, string> = {
  app: 'app',
  topic: 'topic',
  description: 'description',
  status: 'status',
  notifyHttpParam: 'notify_http_param',
  policies: 'policies',
  slotAmount: 'slot_amount',
  resumedAt: 'resumed_at',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  createdBy: 'created_by',
  updatedBy: 'updated_by',
};
const FIELDS = Object.entries(COLUMNS) as [keyof Written, string][];
const SELECT = `SELECT o.topic_id, o.revision, ${FIELDS.map(([, column]) => `o.${column}`).join(', ')} FROM topic o`;

/** The topic's app comes into being with it. `null`: the name is taken. */
export function* createTopic(dialect: Dialect, topic: Omit<Written, 'resumedAt'>): Work<Topic | null> {
  // Looked for first, because MySQL uses up an id for each row that is there already.
  if (yield* findTopic(topic.app, topic.topic)) return null;
  yield* createApp(dialect, topic.app, topic.createdAt);
  const sets = assignments(topic);
  const written = yield* affected(
    `${dialect.insertIgnore} INTO topic (${sets.map(([column]) => column).join(', ')}, revision)
     VALUES (${sets.map(() => '?').join(', ')}, 1)`,
    ...sets.map(([, value]) => value),
  );
  return written === 0 ? null : yield* findTopic(topic.app, topic.topic);
}

export function* findTopic(app: string, topic: string): Work<Topic | null> {
  const [row] = yield* rows<Row>(`${SELECT} WHERE o.app = ? AND o.topic = ? AND o.deleted_as = 0`, app, topic);
  return row ? topicOf(row) : null;
}

export function* listTopics({ app, page, pageSize }: { app: string | null; page: number; pageSize: number }) {
  const filter = `WHERE ${app === null ? '' : 'o.app = ? AND '}o.deleted_as = 0`;
  const params = app === null ? [] : [app];
  const [count] = yield* rows<{ total: number }>(`SELECT COUNT(*) AS total FROM topic o ${filter}`, ...params);
  const found = yield* rows<Row>(
    `${SELECT} ${filter} ORDER BY o.app, o.topic LIMIT ? OFFSET ?`,
    ...params,
    pageSize,
    (page - 1) * pageSize,
  );
  return { list: found.map(topicOf), total: count?.total ?? 0 };
}

export function* saveTopic(topic: Topic, changes: Partial<Written>): Work<Topic | null> {
  const sets = assignments(changes);
  const deletes = changes.status === 0 ? 'deleted_as = topic_id, ' : '';
  const saved = yield* affected(
    `UPDATE topic SET ${sets.map(([column]) => `${column} = ?, `).join('')}${deletes}revision = revision + 1
     WHERE topic_id = ? AND revision = ?`,
    ...sets.map(([, value]) => value),
    topic.topicId,
    topic.revision,
  );
  if (saved === 0) return null;
  const [row] = yield* rows<Row>(`${SELECT} WHERE o.topic_id = ?`, topic.topicId);
  return topicOf(row as Row);
}

export function* resumedSince(dialect: Dialect, since: number): Work<Topic[]> {
  const found = yield* rows<Row>(
    `${SELECT}${dialect.force('topic_resumed')} WHERE o.resumed_at >= ? AND o.status = 2 ORDER BY o.topic_id`,
    since,
  );
  return found.map(topicOf);
}

/** The last of `count` numbers that nobody else gets. */
export function* takeSequence(topicId: number, count: number): Work<number> {
  yield* affected('UPDATE topic SET next_sequence = next_sequence + ? WHERE topic_id = ?', count, topicId);
  const [row] = yield* rows<{ next_sequence: number }>('SELECT next_sequence FROM topic WHERE topic_id = ?', topicId);
  if (!row) throw new Error(`There is no topic ${topicId}`);
  return row.next_sequence;
}

export function* topicDefinitions(dialect: Dialect, topicIds: readonly number[]): Work<Definition[]> {
  const found = yield* rows<Row>(
    `SELECT o.topic_id, o.app, o.topic, o.revision, o.notify_http_param, o.policies, a.signing_secret, a.previous_secret
     FROM topic o LEFT JOIN app a ON a.app = o.app WHERE ${dialect.in('o.topic_id')}`,
    dialect.list(topicIds),
  );
  return found.map((row) => ({
    timerId: (row.topic_id as number) * TOPIC_SPAN,
    topic: row.topic as string,
    app: row.app as string,
    name: row.topic as string,
    revision: row.revision as number,
    notifyHttpParam: JSON.parse(row.notify_http_param as string),
    policies: jobPolicies(policiesOf(row.policies as string)),
    signingSecrets: secretsOf(row),
  }));
}

/** A topic stored before a policy came into being has its default. */
const policiesOf = (text: string): Topic['policies'] => ({ ...defaultTopicPolicies, ...JSON.parse(text) });

function assignments(fields: Partial<Written>): [column: string, value: unknown][] {
  return FIELDS.flatMap(([field, column]): [string, unknown][] =>
    fields[field] === undefined ? [] : [[column, stored(fields[field])]],
  );
}

function topicOf(row: Row): Topic {
  const fields = Object.fromEntries(FIELDS.map(([field, column]) => [field, row[column]])) as unknown as Written;
  return {
    ...fields,
    topicId: row.topic_id as number,
    revision: row.revision as number,
    notifyHttpParam: JSON.parse(row.notify_http_param as string),
    policies: policiesOf(row.policies as string),
  };
}
