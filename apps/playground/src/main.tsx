import { render } from 'preact';
import { App } from './app.tsx';
import { runHeadless } from './headless.ts';

const parameters = new URLSearchParams(location.search);
const root = document.querySelector('#app');
if (parameters.has('headless')) void runHeadless();
else if (root) render(<App />, root);
