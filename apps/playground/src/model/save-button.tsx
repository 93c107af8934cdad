import type { ScriptModule } from 'cresset';
import { useState } from 'preact/hooks';
import { ErrorNotice } from '../pieces/error-notice.tsx';

/** Downloads the model as it is now, as a `.pt` that PyTorch reads. */
export function SaveButton({ model, name }: { model: ScriptModule; name: string }) {
  const [error, setError] = useState<unknown>(null);
  const [isSaving, setIsSaving] = useState(false);

  const save = async () => {
    setIsSaving(true);
    setError(null);
    try {
      const address = URL.createObjectURL(await model.save({ as: 'blob' }));
      const link = Object.assign(document.createElement('a'), { href: address, download: fileName(name) });
      link.click();
      // The download has its own hold of the data by then.
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setIsSaving(false);
    }
  };

  return (
    <>
      <button type="button" disabled={isSaving} onClick={save}>
        {isSaving ? 'Saving…' : 'Save'}
      </button>
      {error != null && <ErrorNotice error={error} />}
    </>
  );
}

function fileName(name: string): string {
  return name.endsWith('.pt') ? name : `${name.replaceAll(/[^\w.-]+/g, '-')}.pt`;
}
