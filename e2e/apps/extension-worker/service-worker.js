import { load, tensor } from './node_modules/cresset/dist/cresset.js';
import './node_modules/cresset/dist/provide-engine.js';
import { answer } from './digits.js';

chrome.runtime.onMessage.addListener((_message, _sender, respond) => {
  answer({ load, tensor }, new URL('models/', location.href)).then(respond, (error) =>
    respond({ error: `${error.stack}` }),
  );
  // The answer comes later.
  return true;
});
