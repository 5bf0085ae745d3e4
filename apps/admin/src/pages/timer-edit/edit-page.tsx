import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { useText } from '../../i18n/text.js';
import { Page } from '../../parts/page.js';
import { Failure, Loading } from '../../parts/states.js';
import { session } from '../../session.js';
import { draftOf } from './draft.js';
import { TimerForm } from './timer-form.js';

export default function EditPage() {
  const text = useText();
  const { timerId } = useParams();
  const query = useQuery({
    queryKey: ['edit', Number(timerId)],
    queryFn: ({ signal }) => session.client.timers.get({ timerId: timerId! }, { signal }),
    // Fresh at each visit, and then left alone: what is being edited must not change under the hands.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!query.data) {
    return (
      <Page title={`#${timerId}`}>
        {query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading />}
      </Page>
    );
  }
  const { name } = query.data;
  return (
    <TimerForm
      key={timerId}
      initial={draftOf(query.data)}
      timerId={query.data.timerId}
      title={text.form.editTitle(name)}
    />
  );
}
