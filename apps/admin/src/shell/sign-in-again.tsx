import { Button, Modal } from 'antd';
import { useText } from '../i18n/text.js';
import { TokenForm } from '../pages/sign-in/token-form.js';
import { queryClient } from '../query.js';
import { session } from '../session.js';

/** Over the page, which stays as it is beneath. */
export function SignInAgain() {
  const text = useText();
  return (
    <Modal open title={text.signIn.expiredTitle} footer={null} closable={false} keyboard={false} width={420}>
      <p>{text.signIn.expired}</p>
      <TokenForm onSignedIn={() => void queryClient.invalidateQueries()} />
      <Button
        type="link"
        className="sign-out-link"
        onClick={() => {
          session.signOut();
          queryClient.clear();
        }}
      >
        {text.signIn.out}
      </Button>
    </Modal>
  );
}
