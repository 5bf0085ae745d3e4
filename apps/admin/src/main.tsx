import { createClient } from '@xtimer/client';
import { App, Button, Card, Form, Input } from 'antd';
import { createRoot } from 'react-dom/client';

function SignIn() {
  const { message } = App.useApp();
  const signIn = async ({ token }: { token: string }) => {
    await createClient({ url: location.origin, token }).timers.list({ pageSize: 1 });
    sessionStorage.setItem('xtimer.token', token);
    message.success('Signed in');
  };
  return (
    <Card title="xtimer">
      <Form layout="vertical" onFinish={(values) => signIn(values).catch((error) => message.error(String(error)))}>
        <Form.Item name="token" label="Admin token" rules={[{ required: true }]}>
          <Input.Password />
        </Form.Item>
        <Button htmlType="submit" type="primary">
          Sign in
        </Button>
      </Form>
    </Card>
  );
}

createRoot(document.getElementById('root')!).render(
  <App>
    <SignIn />
  </App>,
);
