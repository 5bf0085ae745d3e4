import { Suspense } from 'react';
import { NavLink, Outlet, useNavigation } from 'react-router';
import { useText } from '../i18n/text.js';
import { IconButton } from '../parts/icon-button.js';
import { Clock, Leave, List } from '../parts/icons.js';
import { Loading } from '../parts/states.js';
import { queryClient } from '../query.js';
import { session } from '../session.js';
import { offsetOf, viewerZone } from '../time.js';
import { LanguageSwitch, ThemeSwitch } from './switches.js';

/** What stands around every page. */
export function Shell() {
  const text = useText();
  const navigation = useNavigation();
  const signOut = () => {
    session.signOut();
    queryClient.clear();
  };
  return (
    <div className="shell">
      <a href="#content" className="skip-link">
        {text.nav.skip}
      </a>
      <header className="side">
        <div className="brand">
          <img src="/icon.svg" alt="" width={24} height={24} />
          {text.product}
        </div>
        <nav aria-label={text.nav.label}>
          <NavLink to="/timers">
            <Clock />
            {text.nav.timers}
          </NavLink>
          <NavLink to="/history">
            <List />
            {text.nav.history}
          </NavLink>
        </nav>
        <div className="side-tools">
          <span className="soft small zone-name">
            {text.timesIn(viewerZone)} <span className="num">({offsetOf(Date.now(), viewerZone)})</span>
          </span>
          <LanguageSwitch />
          <ThemeSwitch />
          <IconButton label={text.signIn.out} icon={<Leave />} onClick={signOut} />
        </div>
      </header>
      <main id="content" tabIndex={-1} aria-busy={navigation.state !== 'idle'}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  );
}
