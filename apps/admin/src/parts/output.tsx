import { Segmented } from 'antd';
import { useState } from 'react';
import { useText } from '../i18n/text.js';
import { prettyJson } from '../json.js';
import { CopyButton } from './icon-button.js';

/** What somebody else's server said: only ever shown as text. JSON is laid out; the original is one click away. */
export function Output({ text: original }: { text: string }) {
  const text = useText();
  const [raw, setRaw] = useState(false);
  const pretty = prettyJson(original);
  const shown = raw || pretty === null ? original : pretty;
  return (
    <div className="output">
      <div className="output-tools">
        {pretty !== null && (
          <Segmented
            size="small"
            aria-label={text.tasks.output}
            value={raw ? 'raw' : 'pretty'}
            onChange={(value) => setRaw(value === 'raw')}
            options={[
              { value: 'pretty', label: text.tasks.pretty },
              { value: 'raw', label: text.tasks.raw },
            ]}
          />
        )}
        <CopyButton value={original} what={text.tasks.output} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <pre tabIndex={0}>{shown}</pre>
    </div>
  );
}
