import { App, ConfigProvider } from 'antd';
import enUS from 'antd/es/locale/en_US.js';
import zhCN from 'antd/es/locale/zh_CN.js';
import { useEffect, useMemo } from 'react';
import { Outlet } from 'react-router';
import { SignInPage } from '../pages/sign-in/sign-in-page.js';
import { useLanguage, useMode } from '../preferences.js';
import { useSession } from '../session.js';
import { antdTheme } from '../theme.js';
import { SignInAgain } from './sign-in-again.js';

const locales = { en: enUS, zh: zhCN };

/** Look and language for all; the pages for who is signed in. */
export function Root() {
  const mode = useMode();
  const language = useLanguage();
  const session = useSession();
  const theme = useMemo(() => antdTheme(mode), [mode]);
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  }, [language]);
  return (
    <ConfigProvider
      theme={theme}
      locale={locales[language]}
      wave={{ disabled: true }}
      button={{ autoInsertSpace: false }}
      // The way to the console's own pieces; antd's are styled from the same tokens.
      componentSize="medium"
    >
      <App message={{ maxCount: 3 }}>
        {session === 'out' ? <SignInPage /> : <Outlet />}
        {session === 'expired' && <SignInAgain />}
      </App>
    </ConfigProvider>
  );
}
