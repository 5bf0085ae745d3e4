import { Link } from 'react-router';
import { useText } from '../../i18n/text.js';
import { Page } from '../../parts/page.js';
import { Nothing } from '../../parts/states.js';

export default function NotFoundPage() {
  const text = useText();
  return (
    <Page title="404">
      <Nothing action={<Link to="/timers">{text.backToTimers}</Link>}>{text.gone}</Nothing>
    </Page>
  );
}
