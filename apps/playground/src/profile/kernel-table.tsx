import type { CallProfile, KernelProfile } from 'cresset';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { Highlighted } from '../pieces/highlight.tsx';
import { shortCount, shortTime } from './short-time.ts';

const places: Record<Exclude<KernelProfile['place'], 'device'>, string> = {
  host: 'host',
  fallback: 'host, after a readback',
};

const shortOperators = (operators: readonly string[]) =>
  operators.map((name) => name.replace(/^aten::/, '').replace(/\..*$/, '')).join(' + ');

interface RowProperties {
  readonly kernel: KernelProfile;
  /** What kernels run on. */
  readonly on: string;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Row({ kernel, on, isOpen, onToggle }: RowProperties) {
  const { operators, python, place, runs, milliseconds, bytes, flops, shareOfPeak } = kernel;
  return (
    <tr>
      <td>
        <button type="button" class="plain" aria-expanded={isOpen} onClick={onToggle}>
          <code>{shortOperators(operators)}</code>
        </button>
        {python.length > 0 && (
          <small>{python.map(({ file, line }) => `${file.split('/').at(-1)}:${line}`).join(', ')}</small>
        )}
      </td>
      <td>{place === 'device' ? on : places[place]}</td>
      <td class="number">{Number.isInteger(runs) ? runs : runs.toFixed(1)}</td>
      <td class="number">{milliseconds === null ? '' : shortTime(milliseconds)}</td>
      <td class="number">{shortCount(bytes, 'B')}</td>
      <td class="number">{flops > 0 ? shortCount(flops, 'FLOP') : ''}</td>
      <td class="number">{shareOfPeak === null ? '' : `${(100 * shareOfPeak).toFixed(0)} %`}</td>
    </tr>
  );
}

const isShader = (code: string): boolean => code.includes('@compute');

function Details({ kernel: { python, code, schedule } }: { kernel: KernelProfile }) {
  return (
    <div class="stack">
      {python.length > 0 && (
        <ul class="faint">
          {python.map(({ file, line, text }) => (
            <li key={`${file}:${line}`}>
              {file}:{line} <code>{text}</code>
            </li>
          ))}
        </ul>
      )}
      {schedule !== null && <p class="faint">Schedule: {schedule}.</p>}
      {code === null ? (
        <p class="faint">The host computed it without a kernel.</p>
      ) : isShader(code) ? (
        <Highlighted text={code} syntax="wgsl" label="WGSL" />
      ) : (
        <Highlighted text={code} syntax="wat" label="WebAssembly" />
      )}
    </div>
  );
}

/** A row for each kernel, the longest first; opened, it shows its lines of Python and its shader or WebAssembly. */
export function KernelTable({ kernels, on }: { kernels: CallProfile['kernels']; on: string }) {
  const [open, setOpen] = useState<KernelProfile | null>(null);
  return (
    <div class="scroll">
      <table class="kernels">
        <caption>Kernels, the longest first</caption>
        <thead>
          <tr>
            <th scope="col">operators and lines</th>
            <th scope="col">on</th>
            <th scope="col" class="number">
              runs
            </th>
            <th scope="col" class="number">
              time
            </th>
            <th scope="col" class="number">
              moves
            </th>
            <th scope="col" class="number">
              computes
            </th>
            <th scope="col" class="number">
              of peak
            </th>
          </tr>
        </thead>
        <tbody>
          {kernels.map((kernel, at) => (
            <Fragment key={at}>
              <Row
                kernel={kernel}
                on={on}
                isOpen={open === kernel}
                onToggle={() => setOpen(open === kernel ? null : kernel)}
              />
              {open === kernel && (
                <tr>
                  <td colSpan={7}>
                    <Details kernel={kernel} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}
