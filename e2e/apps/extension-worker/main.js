import { show } from './page.js';

void show(
  chrome.runtime.sendMessage('digits').then((result) => {
    if (result.error) throw new Error(result.error);
    return result;
  }),
);
