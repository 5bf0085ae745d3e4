import { type ReactNode, useEffect } from 'react';
import { useText } from '../i18n/text.js';

/** Heading, actions and title of a page. */
export function Page({ title, actions, children }: { title: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <>
      <header className="page-head">
        <h1>{title}</h1>
        <div className="page-actions">{actions}</div>
      </header>
      {children}
    </>
  );
}

export function useTitle(title: string): void {
  const { product } = useText();
  useEffect(() => {
    document.title = `${title} · ${product}`;
  }, [title, product]);
}

/** A labelled control of a filter bar. */
export function Filter({ label, children, grow }: { label: string; children: ReactNode; grow?: boolean }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label className={grow ? 'filter grow' : 'filter'}>
      <span>{label}</span>
      {children}
    </label>
  );
}
