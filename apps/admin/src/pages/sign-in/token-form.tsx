import { Button, Input, type InputRef } from 'antd';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { useText } from '../../i18n/text.js';
import { sayError } from '../../parts/states.js';
import { session } from '../../session.js';

export function TokenForm({ onSignedIn }: { onSignedIn?: () => void }) {
  const text = useText();
  const words = text.signIn;
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const input = useRef<InputRef>(null);
  const id = useId();
  useEffect(() => input.current?.focus(), []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() === '') return setProblem(words.empty);
    setAsking(true);
    setProblem(null);
    try {
      if (await session.signIn(token.trim())) onSignedIn?.();
      else setProblem(words.wrong);
    } catch (error) {
      setProblem(sayError(error, text));
    } finally {
      setAsking(false);
      input.current?.focus();
    }
  };

  return (
    <form className="token-form" onSubmit={(event) => void submit(event)} noValidate>
      <label htmlFor={id}>{words.token}</label>
      <Input.Password
        {...{ id, ref: input, value: token, autoComplete: 'current-password', spellCheck: false, size: 'large' }}
        {...(problem !== null && { status: 'error' as const })}
        aria-invalid={problem !== null}
        aria-describedby={`${id}-problem ${id}-hint`}
        onChange={({ target }) => {
          setToken(target.value);
          setProblem(null);
        }}
      />
      <p id={`${id}-problem`} className="field-problem" role="alert">
        {problem}
      </p>
      <p id={`${id}-hint`} className="soft small">
        {words.hint}
      </p>
      <Button type="primary" size="large" htmlType="submit" block loading={asking}>
        {words.submit}
      </Button>
    </form>
  );
}
