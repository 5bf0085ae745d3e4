import { useMutation, useQueryClient } from '@tanstack/react-query';
import { XtimerError } from '@xtimer/client';
import { CreateTimer, problemsOf, UpdateTimer } from '@xtimer/contracts';
import { App, Button, Form, Input, Switch } from 'antd';
import { useEffect, useRef } from 'react';
import { useBlocker, useNavigate } from 'react-router';
import { useText } from '../../i18n/text.js';
import { Page, useTitle } from '../../parts/page.js';
import { Failure } from '../../parts/states.js';
import { session } from '../../session.js';
import { CallbackSection } from './callback-section.js';
import { type Draft, inputOf, pathOf, sameHeaders } from './draft.js';
import { PoliciesSection } from './policies-section.js';
import { WhenSection } from './when-section.js';

interface TimerFormProps {
  initial: Draft;
  /** `null`: a new one. */
  timerId: number | null;
  title: string;
}

interface FieldProblem {
  field: string;
  expected: string;
}

/** Create and edit: checked here by the contracts' own schemas, and again by the server. */
export function TimerForm({ initial, timerId, title }: TimerFormProps) {
  const text = useText();
  const words = text.form;
  useTitle(title);
  const navigate = useNavigate();
  const cache = useQueryClient();
  const { message } = App.useApp();
  const [form] = Form.useForm<Draft>();
  const saved = useRef(false);
  useLeaveQuestion(() => !saved.current && isChanged(form.getFieldsValue(true) as Draft, initial));

  const show = (problems: readonly FieldProblem[]) => {
    const draft = form.getFieldsValue(true) as Draft;
    const byPath = new Map<string, string[]>();
    for (const { field, expected } of problems) {
      const path = JSON.stringify(pathOf(field, draft));
      byPath.set(path, [...(byPath.get(path) ?? []), expected]);
    }
    form.setFields([...byPath].map(([path, errors]) => ({ name: JSON.parse(path), errors })));
    const [first] = byPath.keys();
    if (first) form.scrollToField(JSON.parse(first), { block: 'center', focus: true });
    void message.warning(words.fix(byPath.size));
  };

  const save = useMutation({
    mutationFn: async (draft: Draft): Promise<number> => {
      const { app, enable, ...rest } = inputOf(draft);
      if (timerId === null) {
        return (await session.client.timers.create({ app, enable, ...rest })).timerId;
      }
      await session.client.timers.update({ timerId, ...rest });
      return timerId;
    },
    onSuccess: (id, { name }) => {
      saved.current = true;
      void message.success(timerId === null ? words.created(name.trim()) : words.saved(name.trim()));
      for (const key of ['timers', 'timer', 'tasks', 'next']) void cache.invalidateQueries({ queryKey: [key] });
      void navigate(`/timers/${id}`);
    },
    onError: (error) => {
      if (!(error instanceof XtimerError) || error.status !== 400) return;
      const problems = Array.isArray(error.data.problems) ? (error.data.problems as FieldProblem[]) : [];
      const known =
        problems.length > 0 ? problems : error.field ? [{ field: error.field, expected: error.message }] : [];
      if (known.length > 0) show(known);
    },
  });

  const submit = (draft: Draft) => {
    const { app, enable, ...rest } = inputOf(draft);
    const input = timerId === null ? { app, enable, ...rest } : { timerId, ...rest };
    const checked = (timerId === null ? CreateTimer : UpdateTimer).safeParse(input);
    const same = sameHeaders(draft.callback).map((at) => ({
      field: `notifyHTTPParam.header[${at}]`,
      expected: words.sameHeader,
    }));
    const problems = [...same, ...(checked.success ? [] : problemsOf(checked.error.issues, input))];
    if (problems.length === 0) save.mutate(draft);
    else show(problems);
  };

  return (
    <Form<Draft>
      form={form}
      layout="vertical"
      initialValues={initial}
      onFinish={() => submit(form.getFieldsValue(true) as Draft)}
      onValuesChange={(changes) => {
        // What was wrong may be right now; the next save looks again.
        for (const name of Object.keys(changes)) {
          const wrong = form.getFieldsError().filter((field) => field.name[0] === name && field.errors.length > 0);
          form.setFields(wrong.map((field) => ({ name: field.name as never, errors: [] })));
        }
      }}
      requiredMark={false}
      scrollToFirstError
    >
      <Page
        title={title}
        actions={
          <>
            <Button onClick={() => void navigate(timerId === null ? '/timers' : `/timers/${timerId}`)}>
              {text.cancel}
            </Button>
            <Button type="primary" htmlType="submit" loading={save.isPending}>
              {timerId === null ? words.createSubmit : words.saveSubmit}
            </Button>
          </>
        }
      >
        {save.isError && <Failure error={save.error} what={text.failed} />}
        <section className="panel padded">
          <h2>{words.basics}</h2>
          <div className="field-row">
            <Form.Item name="name" label={text.name} className="grow">
              <Input maxLength={128} autoComplete="off" />
            </Form.Item>
            <Form.Item name="app" label={text.app} extra={timerId === null ? words.appHint : words.appLocked}>
              <Input maxLength={64} autoComplete="off" spellCheck={false} disabled={timerId !== null} />
            </Form.Item>
          </div>
          <Form.Item name="description" label={`${words.description} (${words.optional})`}>
            <Input.TextArea maxLength={1000} autoSize={{ minRows: 1, maxRows: 6 }} />
          </Form.Item>
          {timerId === null && (
            <Form.Item name="enable" label={words.enableNow} extra={words.enableHint} valuePropName="checked">
              <Switch />
            </Form.Item>
          )}
        </section>
        <section className="panel padded">
          <h2>{words.when}</h2>
          <WhenSection />
        </section>
        <section className="panel padded">
          <h2>{words.callback}</h2>
          <CallbackSection onProblems={show} />
        </section>
        <section className="panel padded">
          <h2>{words.policies}</h2>
          <PoliciesSection />
        </section>
      </Page>
    </Form>
  );
}

const isChanged = (draft: Draft, initial: Draft): boolean =>
  JSON.stringify(inputOf(draft)) !== JSON.stringify(inputOf(initial));

/** Asks before what was typed is lost: by a link here, by the browser there. */
function useLeaveQuestion(changed: () => boolean): void {
  const words = useText().form;
  const { modal } = App.useApp();
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => currentLocation.pathname !== nextLocation.pathname && changed(),
  );
  const asked = useRef(false);
  useEffect(() => {
    if (blocker.state !== 'blocked' || asked.current) return;
    asked.current = true;
    const done = (then: () => void) => () => {
      asked.current = false;
      then();
    };
    void modal.confirm({
      title: words.leaveTitle,
      content: words.leaveText,
      okText: words.leave,
      cancelText: words.stay,
      icon: null,
      onOk: done(() => blocker.proceed()),
      onCancel: done(() => blocker.reset()),
    });
  }, [blocker, modal, words]);
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (latest.current()) event.preventDefault();
    };
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, []);
}
