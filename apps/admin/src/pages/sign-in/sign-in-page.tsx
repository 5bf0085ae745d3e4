import { useText } from '../../i18n/text.js';
import { useTitle } from '../../parts/page.js';
import { LanguageSwitch, ThemeSwitch } from '../../shell/switches.js';
import { TokenForm } from './token-form.js';

/** Stands at every address until somebody has signed in; the page of that address follows. */
export function SignInPage() {
  const text = useText();
  useTitle(text.signIn.title);
  return (
    <main className="sign-in">
      <section className="sign-in-card">
        <h1>
          <img src="/icon.svg" alt="" width={32} height={32} />
          {text.product}
        </h1>
        <p className="soft">{text.signIn.lead}</p>
        <TokenForm />
      </section>
      <div className="sign-in-tools">
        <LanguageSwitch />
        <ThemeSwitch />
      </div>
    </main>
  );
}
