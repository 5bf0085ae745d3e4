import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { useText } from '../../i18n/text.js';
import { Page } from '../../parts/page.js';
import { Failure, Loading } from '../../parts/states.js';
import { session } from '../../session.js';
import { draftOf, emptyDraft } from './draft.js';
import { TimerForm } from './timer-form.js';

/** A new timer: empty, or `?from=17` as a copy of that one. */
export default function CreatePage() {
  const text = useText();
  const [params] = useSearchParams();
  const from = params.get('from');
  const query = useQuery({
    queryKey: ['timer', Number(from)],
    queryFn: ({ signal }) => session.client.timers.get({ timerId: from! }, { signal }),
    enabled: from !== null,
    // What is being edited must not change under the hands.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const title = text.form.createTitle;
  if (from === null) return <TimerForm key="new" initial={emptyDraft} timerId={null} title={title} />;
  if (!query.data) {
    return (
      <Page title={title}>
        {query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading />}
      </Page>
    );
  }
  const copy = { ...draftOf(query.data), name: text.form.cloneName(query.data.name).slice(0, 128) };
  return <TimerForm key={from} initial={copy} timerId={null} title={title} />;
}
