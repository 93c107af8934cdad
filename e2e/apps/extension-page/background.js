// What an extension's address is shows in that of its service worker.
addEventListener('install', () => skipWaiting());
