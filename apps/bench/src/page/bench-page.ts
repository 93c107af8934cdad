import { contestantName, markdownReport, type BenchReport } from '../report.ts';
import type { BenchClient } from './bench-client.ts';
import { ChoiceList } from './choice-list.ts';
import { element } from './element.ts';
import { resultTable, VIEWS, type View } from './result-table.ts';

/** What is ticked at first: small enough for a phone, and a bit of everything. */
const firstModels = ['matmul', 'convolution', 'classifier', 'attention'];

const lengths = {
  short: { rounds: 3, turnMilliseconds: 100, threads: 1 },
  long: { rounds: 8, turnMilliseconds: 400, threads: 1 },
} as const;

/** Lets a visitor choose models and libraries, and shows what comes of them. */
export async function showBench(root: HTMLElement, client: BenchClient): Promise<void> {
  const status = element('p', { className: 'faint' });
  status.setAttribute('role', 'status');
  status.textContent = 'Looking for models…';
  root.append(header(), status);
  const known = await client.list().catch((error: Error) => {
    status.textContent = `The bench did not start: ${error.message}`;
    throw error;
  });

  const models = new ChoiceList(
    'Models',
    known.models.map(({ name, about }) => ({ value: name, label: name, title: about })),
    (name) => firstModels.includes(name),
  );
  const libraries = new ChoiceList(
    'Libraries',
    known.contestants.map((id) => ({ value: id, label: contestantName(id) })),
    () => true,
  );
  const length = element(
    'select',
    {},
    element('option', { value: 'short', textContent: 'short' }),
    element('option', { value: 'long', textContent: 'long, for steadier figures' }),
  );
  const start = element('button', { className: 'main', type: 'submit', textContent: 'Run' });
  const form = element(
    'form',
    { className: 'card stack' },
    models.root,
    libraries.root,
    element('div', { className: 'row end' }, element('label', { className: 'field' }, 'run', length), start),
  );
  const output = new ResultCard();
  root.replaceChildren(header(), form, status, output.root);
  status.textContent = 'Nothing was run yet.';

  const enable = (): void => {
    start.disabled = models.chosen.length === 0 || libraries.chosen.length === 0;
  };
  form.addEventListener('change', enable, true);
  form.onsubmit = async (event) => {
    event.preventDefault();
    const parts = [models, libraries, length, start];
    for (const part of parts) part.disabled = true;
    const choice = {
      models: models.chosen,
      workloads: [],
      contestants: libraries.chosen,
      ...lengths[length.value as keyof typeof lengths],
    };
    try {
      const report = await client.run(choice, (soFar, doing) => {
        if (doing) status.textContent = `${doing}…`;
        output.show(soFar);
      });
      status.textContent = `Measured on ${report.adapter}.`;
    } catch (error) {
      status.textContent = `The run ended: ${(error as Error).message}`;
    } finally {
      for (const part of parts) part.disabled = false;
    }
  };
}

function header(): HTMLElement {
  return element(
    'header',
    {},
    element('h1', {}, 'Cresset bench'),
    element(
      'p',
      { className: 'faint' },
      'The same models and inputs in Cresset and in other libraries, in this browser, taking turns. A call goes from numbers in JavaScript to numbers in JavaScript. Answers are compared with PyTorch’s; a wrong one has no time.',
    ),
  );
}

/** The table, with a choice of what it tells, and why there are gaps in it. */
class ResultCard {
  readonly root = element('section', { className: 'card stack', hidden: true });
  #report: BenchReport = { adapter: '', contestants: [], results: [], workloads: [] };
  #view: View = 'Warm calls';

  constructor() {
    this.root.setAttribute('aria-label', 'Results');
  }

  show(report: BenchReport): void {
    if (report.results.length === 0 || report === this.#report) return;
    this.#report = report;
    this.#render();
  }

  #render(): void {
    const report = this.#report;
    const views = (Object.keys(VIEWS) as View[]).map((view) => {
      const button = element('button', { type: 'button', textContent: view });
      button.setAttribute('aria-pressed', String(view === this.#view));
      button.onclick = () => {
        this.#view = view;
        this.#render();
      };
      return button;
    });
    const copy = element('button', { type: 'button', textContent: 'Copy as Markdown' });
    copy.onclick = async () => {
      await navigator.clipboard.writeText(markdownReport({ ...report, environment: navigator.userAgent }));
      copy.textContent = 'Copied';
    };
    const table = element('div', { className: 'scroll', tabIndex: 0 }, resultTable(report, this.#view));
    table.setAttribute('role', 'region');
    table.setAttribute('aria-label', this.#view);
    this.root.replaceChildren(
      element('div', { className: 'row spread' }, element('div', { className: 'row' }, ...views), copy),
      table,
      element('p', { className: 'faint' }, explanations[this.#view]),
      ...gaps(report),
    );
    this.root.hidden = false;
  }
}

const explanations: Readonly<Record<View, string>> = {
  'Warm calls': 'Median of a call, and how many times as long as Cresset took on the same device.',
  'First answer': 'From the bytes of the model to the first answer, with shaders compiled on the way.',
  'Asked of WebGPU':
    'In a warm call; shaders and buffer memory made until the first answer, beside what is left of models before.',
};

function gaps({ contestants, results }: BenchReport): HTMLElement[] {
  const missing = contestants.flatMap(({ id, missing: reason }) =>
    reason ? [`${contestantName(id)} is not here: ${reason}`] : [],
  );
  const failed = results.flatMap(({ model, measurements }) =>
    measurements.flatMap((each) =>
      each.status === 'right'
        ? []
        : [`${contestantName(each.contestant)}, ${model}, ${each.status}: ${each.reason.split('\n')[0]}`],
    ),
  );
  const lines = [...missing, ...failed];
  if (lines.length === 0) return [];
  return [
    element(
      'details',
      {},
      element('summary', {}, 'Why there are gaps'),
      element('ul', {}, ...lines.map((line) => element('li', {}, line))),
    ),
  ];
}
