import type { CreateTopic, TopicView, UpdateTopic } from '@xtimer/contracts';
import {
  defaultTopicPolicies,
  jobPolicies,
  type NewTopic,
  TimerStatus,
  type Topic,
  type TopicChanges,
  type TopicPolicies,
} from '@xtimer/pipeline';
import { callbackOf, defined, policiesOf } from '../timers/timer-mapping.js';

/** Between the API's flat JSON and the domain's topics. */

const DEFAULT_SLOT_AMOUNT = 16;

export const newTopicOf = (input: CreateTopic): NewTopic => ({
  app: input.app,
  topic: input.topic,
  description: input.description ?? '',
  notifyHttpParam: callbackOf(input.notifyHTTPParam),
  policies: { ...defaultTopicPolicies, ...topicPoliciesOf(input, defaultTopicPolicies) },
  slotAmount: input.slotAmount ?? DEFAULT_SLOT_AMOUNT,
  status: input.status ?? TimerStatus.active,
});

/** Fields left out stay, also inside a policy. */
export function topicChangesOf(input: UpdateTopic, current: Topic): TopicChanges {
  const { notifyHTTPParam, slotAmount, status, description } = input;
  const policies = topicPoliciesOf(input, current.policies);
  return defined({
    ...{ slotAmount, status, description },
    notifyHttpParam: notifyHTTPParam && callbackOf(notifyHTTPParam),
    policies: Object.keys(policies).length > 0 ? policies : undefined,
  });
}

type PolicyInput = Pick<CreateTopic, keyof TopicPolicies>;

const topicPoliciesOf = (
  { timeoutMs, retry, success, noRetry, delivery }: PolicyInput,
  base: TopicPolicies,
): Partial<TopicPolicies> => policiesOf({ timeoutMs, retry, success, noRetry, delivery }, jobPolicies(base));

export function topicView(stored: Topic): TopicView {
  const { app, topic, status, notifyHttpParam, policies, slotAmount, description, createdAt, updatedAt } = stored;
  return {
    ...{ app, topic, status: status as TopicView['status'], notifyHTTPParam: notifyHttpParam, ...policies },
    ...{ slotAmount, description, createdAt, updatedAt },
  };
}
