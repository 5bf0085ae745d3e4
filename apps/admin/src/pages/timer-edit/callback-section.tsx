import { useMutation } from '@tanstack/react-query';
import { HttpMethods, NotifyHTTPParam, problemsOf } from '@xtimer/contracts';
import { App, Button, Form, Input, Modal, Select } from 'antd';
import { type FocusEvent, useRef, useState } from 'react';
import { useText } from '../../i18n/text.js';
import { formatBody, jsonProblem } from '../../json.js';
import { IconButton } from '../../parts/icon-button.js';
import { Bolt, Check, Cross, Plus, Trash } from '../../parts/icons.js';
import { Output } from '../../parts/output.js';
import { Failure, Loading } from '../../parts/states.js';
import { session } from '../../session.js';
import { duration } from '../../time.js';
import { parseCurl } from './curl.js';
import { callbackOf, type Draft } from './draft.js';

const PLACEHOLDERS = ['timerId', 'taskId', 'runTimer', 'scheduledTime', 'attempt', 'payload'].map(
  (name) => `{{${name}}}`,
);

type Field = HTMLInputElement | HTMLTextAreaElement;

export function CallbackSection({ onProblems }: { onProblems(problems: { field: string; expected: string }[]): void }) {
  const text = useText();
  const words = text.form;
  const form = Form.useFormInstance<Draft>();
  const [pasting, setPasting] = useState(false);
  const body = Form.useWatch(['callback', 'body'], form) ?? '';
  const looksLikeJson = /^\s*[[{]/.test(body);
  const problem = looksLikeJson ? jsonProblem(body) : null;

  /** Where a placeholder goes: the field that had the focus last, the body otherwise. */
  const target = useRef<Field | null>(null);
  const noteFocus = ({ target: element }: FocusEvent) => {
    if ((element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) && element.dataset.path) {
      target.current = element;
    }
  };
  const insert = (placeholder: string) => {
    const field = target.current?.isConnected ? target.current : null;
    const path = field ? (JSON.parse(field.dataset.path!) as (string | number)[]) : ['callback', 'body'];
    const before = String(form.getFieldValue(path as never) ?? '');
    const [start, end] = field
      ? [field.selectionStart ?? before.length, field.selectionEnd ?? before.length]
      : [before.length, before.length];
    form.setFieldValue(path as never, before.slice(0, start) + placeholder + before.slice(end));
    if (!field) return;
    field.focus();
    requestAnimationFrame(() => field.setSelectionRange(start + placeholder.length, start + placeholder.length));
  };

  const test = useMutation({
    mutationFn: () => {
      const { app, callback, timeoutMs, success } = form.getFieldsValue(true) as Draft;
      return session.client.callbacks.test({
        ...(app.trim() && { app: app.trim() }),
        notifyHTTPParam: callbackOf(callback),
        ...(timeoutMs !== null && { timeoutMs }),
        success: { status: success },
      });
    },
  });
  const startTest = () => {
    const callback = callbackOf(form.getFieldValue('callback') as Draft['callback']);
    const checked = NotifyHTTPParam.safeParse(callback);
    if (checked.success) return test.mutate();
    const problems = problemsOf(checked.error.issues, callback);
    onProblems(problems.map(({ field, expected }) => ({ field: `notifyHTTPParam.${field}`, expected })));
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only notes which of its fields had the focus
    <div className="two-columns" onFocus={noteFocus}>
      <div>
        <Button onClick={() => setPasting(true)}>{words.pasteCurl}</Button>
        <PasteCurl open={pasting} onClose={() => setPasting(false)} />
        <div className="field-row url-row">
          <Form.Item name={['callback', 'method']} label={words.method}>
            <Select options={HttpMethods.map((value) => ({ value }))} />
          </Form.Item>
          <Form.Item name={['callback', 'url']} label={words.url} className="grow">
            <Input
              data-path='["callback","url"]'
              autoComplete="off"
              spellCheck={false}
              maxLength={2048}
              placeholder="https://example.com/path"
            />
          </Form.Item>
        </div>
        <fieldset className="plain-fieldset">
          <legend>{words.headers}</legend>
          <Form.List name={['callback', 'headers']}>
            {(fields, { add, remove }) => (
              <>
                {fields.map(({ key, name }) => (
                  <div key={key} className="header-row">
                    <Form.Item name={[name, 'name']} label={words.headerName} className="bare-label">
                      <Input className="mono" autoComplete="off" spellCheck={false} placeholder="X-Env" />
                    </Form.Item>
                    <Form.Item name={[name, 'value']} label={words.headerValue} className="bare-label grow">
                      <Input
                        className="mono"
                        data-path={JSON.stringify(['callback', 'headers', name, 'value'])}
                        autoComplete="off"
                        spellCheck={false}
                      />
                    </Form.Item>
                    <IconButton
                      label={words.removeHeader(
                        String(form.getFieldValue(['callback', 'headers', name, 'name']) ?? ''),
                      )}
                      icon={<Trash />}
                      onClick={() => remove(name)}
                    />
                  </div>
                ))}
                <Button size="small" icon={<Plus size={14} />} onClick={() => add({ name: '', value: '' })}>
                  {words.addHeader}
                </Button>
              </>
            )}
          </Form.List>
        </fieldset>
        <Form.Item
          name={['callback', 'body']}
          label={words.body}
          extra={
            <span className="body-state">
              {body === '' ? (
                words.optional
              ) : !looksLikeJson ? (
                words.plainBody
              ) : problem === null ? (
                <span className="status status-good">
                  <Check size={14} />
                  {words.jsonOk}
                </span>
              ) : (
                <span className="status status-warn">
                  <Cross size={14} />
                  {words.jsonBad(problem)}
                </span>
              )}
              {looksLikeJson && problem === null && (
                <Button
                  size="small"
                  type="link"
                  onClick={() => form.setFieldValue(['callback', 'body'], formatBody(body) ?? body)}
                >
                  {words.formatJson}
                </Button>
              )}
            </span>
          }
        >
          <Input.TextArea
            className="mono"
            data-path='["callback","body"]'
            autoSize={{ minRows: 3, maxRows: 16 }}
            spellCheck={false}
          />
        </Form.Item>
        <fieldset className="chips">
          <legend className="soft small">{words.placeholders}</legend>
          {PLACEHOLDERS.map((placeholder) => (
            <Button key={placeholder} size="small" className="mono" onClick={() => insert(placeholder)}>
              {placeholder}
            </Button>
          ))}
        </fieldset>
      </div>
      <div className="consequence">
        <Button icon={<Bolt />} loading={test.isPending} onClick={startTest}>
          {words.test}
        </Button>
        <p className="soft small">{words.testHint}</p>
        <div aria-live="polite">
          {test.isPending && <Loading lines={3} />}
          {test.isError && <Failure error={test.error} what={text.failed} />}
          {test.data && !test.isPending && (
            <>
              <p className="test-result">
                <span className={`status status-${test.data.success ? 'good' : 'bad'}`}>
                  {test.data.success ? <Check size={14} /> : <Cross size={14} />}
                  {test.data.success ? words.testOk : words.testBad}
                </span>
                <span className="num">
                  {test.data.httpStatus === null ? words.testNoAnswer : `HTTP ${test.data.httpStatus}`}
                </span>
                <span className="num">{duration(test.data.costTime, text.units)}</span>
              </p>
              {test.data.error && <p className="error-text">{test.data.error}</p>}
              {test.data.output === null ? (
                test.data.httpStatus !== null && <p className="soft">{text.tasks.noOutput}</p>
              ) : (
                <Output text={test.data.output} />
              )}
            </>
          )}
        </div>
      </div>
    </div>
  );
}

function PasteCurl({ open, onClose }: { open: boolean; onClose(): void }) {
  const text = useText();
  const words = text.form;
  const form = Form.useFormInstance<Draft>();
  const { message } = App.useApp();
  const [command, setCommand] = useState('');
  const [problem, setProblem] = useState<string | null>(null);

  const fill = () => {
    const read = parseCurl(command);
    if ('reason' in read) {
      const say = words.curl[read.reason];
      return setProblem(typeof say === 'string' ? say : say('value' in read ? read.value : ''));
    }
    const { method, url, header, body, timeoutMs, ignored } = read;
    const headers = Object.entries(header).map(([name, value]) => ({ name, value }));
    form.setFieldValue('callback', { method, url, headers, body: body ?? '' });
    if (timeoutMs !== null) form.setFieldValue('timeoutMs', timeoutMs);
    void message.success(
      <>
        {words.curlDone} {ignored.length > 0 && words.curlIgnored(ignored.join(', '))}
      </>,
      ignored.length > 0 ? 8 : 3,
    );
    setCommand('');
    setProblem(null);
    onClose();
  };

  return (
    <Modal
      open={open}
      onCancel={onClose}
      onOk={fill}
      title={words.pasteCurl}
      okText={words.useCurl}
      cancelText={text.cancel}
      okButtonProps={{ disabled: command.trim() === '' }}
      width={640}
    >
      <label htmlFor="curl-command">{words.curlLabel}</label>
      <Input.TextArea
        id="curl-command"
        className="mono"
        autoFocus
        spellCheck={false}
        autoSize={{ minRows: 5, maxRows: 14 }}
        value={command}
        {...(problem !== null && { status: 'error' as const })}
        aria-describedby="curl-problem curl-hint"
        onChange={({ target }) => {
          setCommand(target.value);
          setProblem(null);
        }}
      />
      <p id="curl-problem" className="field-problem" role="alert">
        {problem}
      </p>
      <p id="curl-hint" className="soft small">
        {words.curlHint}
      </p>
    </Modal>
  );
}
